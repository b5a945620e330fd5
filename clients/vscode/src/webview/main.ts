/** The panel's page: builds it and hands each message of the extension to its part. */

import type { PageCommand, PanelState, ToPage } from "../panel/messages";
import { live } from "./announce";
import { button, el } from "./dom";
import { Gauge } from "./gauge";
import { host } from "./host";
import { Prompt } from "./prompt";
import { Trace } from "./trace";
import { t } from "./words";

const trace: Trace = new Trace((turn, text, edited) => prompt.change(turn, text, edited));
const prompt = new Prompt(() => trace.end.go());
const gauge = new Gauge();
const banner = el("div", { class: "banner", attributes: { role: "status" } });
const model = button("", () => host.postMessage({ type: "command", name: "chooseModel" }), "link model");
const bar = el("header", { class: "top" }, model, gauge.element);

function show(state: PanelState): void {
  gauge.show(state.gauge);
  model.textContent = state.model ?? t("Choose the model");
  model.title = state.model === null ? "" : t("Model: {0}. Choose another", state.model);
  model.setAttribute("aria-label", model.title || model.textContent);
  prompt.update(state);
  trace.update(state);
  const parts = [...bannerOf(state)];
  banner.hidden = parts.length === 0;
  banner.replaceChildren(...parts);
}

function bannerOf({ daemon, acceptsTurn }: PanelState): (Node | string)[] {
  switch (daemon) {
    case "starting":
      return [t("The daemon starts…")];
    case "stopped":
    case "failed":
      return [t("The daemon does not run."), " ", command(t("Start it"), "restart"), command(t("Show the log"), "log")];
    case "running":
      return acceptsTurn ? [t("The rest of this turn's edits are accepted without asking.")] : [];
  }
}

function command(label: string, name: PageCommand): HTMLButtonElement {
  return button(label, () => host.postMessage({ type: "command", name }), "link");
}

window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
  switch (data.type) {
    case "reset":
      trace.reset(data.events);
      break;
    case "events":
      trace.add(data.events);
      break;
    case "state":
      show(data.state);
      break;
    case "prompt":
      prompt.fill(data.text);
      break;
    case "completions":
      prompt.completions(data.request, data.items);
      break;
  }
});

document.getElementById("app")?.append(bar, banner, trace.element, trace.end.element, prompt.element, live);
host.postMessage({ type: "ready" });
