/** Whoever is at the end of a text that grows stays there; who went up is left in peace, and shown the way back. */

import { button, el } from "./dom";
import { t } from "./words";

const NEAR = 40; // pixels

export class End {
  private follows = true;
  private scrolled = 0;
  private waits = false;
  /** What was just clicked: its content may come after more of the text. */
  private unfolding: HTMLElement | null = null;
  private readonly back = button("", () => this.goBack());
  readonly element = el("div", { class: "end" }, this.back);

  /** `text` scrolls, `flow` grows in it. */
  constructor(
    private readonly text: HTMLElement,
    flow: HTMLElement,
  ) {
    text.addEventListener("scroll", () => {
      this.look();
      this.keep(); // the text may have shrunk and grown again in one frame, which is no change of its size
    });
    text.addEventListener("click", ({ target }) => this.clicked(target));
    text.addEventListener("toggle", ({ target }) => this.toggled(target), { capture: true });
    text.addEventListener("contentvisibilityautostatechange", () => this.keep(), { capture: true });
    const sizes = new ResizeObserver(() => this.keep());
    sizes.observe(flow);
    sizes.observe(text);
    this.show();
  }

  /** `change` may make the text grow, and `waits` says whether something at its end then waits for the person. */
  during(change: () => void, waits = this.waits): void {
    this.look(); // a scroll may not have been told yet
    change();
    this.waits = waits;
    this.keep();
  }

  go(): void {
    this.follows = true;
    this.keep();
  }

  private goBack(): void {
    this.text.focus({ preventScroll: true }); // the button goes
    this.go();
  }

  private left(): number {
    const { scrollTop, scrollHeight, clientHeight } = this.text;
    return scrollHeight - scrollTop - clientHeight;
  }

  /** Only going up leaves the end: that more came below it does not. */
  private look(): void {
    const { scrollTop } = this.text;
    const left = this.left();
    if (left <= 1 || (left < NEAR && scrollTop > this.scrolled)) {
      this.follows = true;
    } else if (scrollTop < this.scrolled) {
      this.follows = false;
    }
    this.scrolled = scrollTop;
  }

  private keep(): void {
    if (this.follows) {
      this.text.scrollTop = this.text.scrollHeight;
      this.scrolled = this.text.scrollTop;
    }
    this.show();
  }

  private show(): void {
    this.back.hidden = this.follows || this.left() < NEAR;
    if (!this.back.hidden) {
      this.back.textContent = `↓ ${this.waits ? t("Waits for you") : t("To the end")}`;
      this.back.classList.toggle("primary", this.waits);
    }
  }

  /** What one unfolds does not run away. */
  private clicked(target: EventTarget | null): void {
    const summary = target instanceof Element ? target.closest("summary") : null;
    if (summary !== null) {
      this.unfolding = summary.parentElement;
      this.follows = false;
    }
  }

  private toggled(target: EventTarget | null): void {
    if (target === this.unfolding) {
      this.unfolding = null;
      this.follows = false;
    }
  }
}
