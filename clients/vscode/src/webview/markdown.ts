/** The model's Markdown as elements: no HTML of its own, no images, no links but to the web; code blocks get buttons. */

import createDOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

import { button, el, scrollable } from "./dom";
import { host } from "./host";
import { t } from "./words";

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false }).disable("image");
const purify = createDOMPurify(window);
// Once for all: reading it takes longer than a short answer.
purify.setConfig({
  ALLOWED_TAGS: [
    ..."div p br hr em strong s code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 a table thead tbody tr th td".split(" "),
  ],
  ALLOWED_ATTR: ["href", "class", "start"],
  ALLOWED_URI_REGEXP: /^https?:\/\//i,
  IN_PLACE: true,
});
/** Of no window: nothing in it loads or runs. One for all, as making one takes longer than a short answer. */
const inert = document.implementation.createHTMLDocument("");

export function rendered(text: string): HTMLElement {
  const body = inert.createElement("div");
  body.innerHTML = markdown.render(text);
  purify.sanitize(body, { IN_PLACE: true });
  document.adoptNode(body).className = "markdown";
  for (const pre of body.querySelectorAll("pre")) {
    pre.replaceWith(codeBlock(pre));
  }
  for (const link of body.querySelectorAll("a")) {
    link.title = link.getAttribute("href") ?? ""; // where it leads is seen before it is followed
  }
  return body;
}

function codeBlock(pre: HTMLPreElement): HTMLElement {
  const text = pre.textContent;
  const language = /language-([\w+#-]+)/.exec(pre.querySelector("code")?.className ?? "")?.[1] ?? "";
  const bar = el(
    "div",
    { class: "codebar" },
    el("span", { class: "dim", text: language }),
    button(t("Copy"), () => host.postMessage({ type: "copy", text }), "link"),
    button(t("Insert"), () => host.postMessage({ type: "insert", text }), "link"),
    button(t("Open as a file"), () => host.postMessage({ type: "openText", text, language }), "link"),
  );
  return el("div", { class: "codeblock" }, bar, scrollable("", t("Code"), el("code", { text })));
}
