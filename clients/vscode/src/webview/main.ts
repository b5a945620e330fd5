/** The panel's page: builds it and hands each message of the extension to its part. */

import type { PageCommand, PanelState, ToPage } from "../panel/messages";
import { button, el } from "./dom";
import { Gauge } from "./gauge";
import { host } from "./host";
import { Prompt } from "./prompt";
import { Trace } from "./trace";

const trace = new Trace();
const gauge = new Gauge();
const prompt = new Prompt();
const banner = el("div", { class: "banner", attributes: { role: "status" } });

function command(label: string, name: PageCommand): HTMLButtonElement {
  return button(
    label,
    () => {
      host.postMessage({ type: "command", name });
    },
    "link",
  );
}

const bar = el("header", { class: "top" }, gauge.element);

function show(state: PanelState): void {
  gauge.show(state.gauge);
  bar.hidden = state.gauge === null;
  prompt.update(state);
  trace.update(state);
  banner.hidden = state.daemon === "running";
  banner.replaceChildren(...bannerOf(state.daemon));
}

function bannerOf(daemon: PanelState["daemon"]): (Node | string)[] {
  switch (daemon) {
    case "starting":
      return ["The daemon starts…"];
    case "stopped":
    case "failed":
      return ["The daemon does not run. ", command("Start it", "restart"), command("Show the log", "log")];
    case "running":
      return [];
  }
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
    case "problem":
      trace.problem(data.text);
      break;
    case "prompt":
      prompt.fill(data.text);
      break;
    case "completions":
      prompt.completions(data.request, data.items);
      break;
  }
});

document.getElementById("app")?.append(bar, banner, trace.element, prompt.element);
host.postMessage({ type: "ready" });
