// A text area over its own text with marks.

import { element } from "./dom.js";

export class Editor {
  constructor(parent) {
    this.area = parent.querySelector("textarea");
    this.back = parent.querySelector("pre");
    this.area.addEventListener("scroll", () => this.scroll());
    new ResizeObserver(() => this.scroll()).observe(this.area);
  }

  get value() { return this.area.value; }

  set value(text) {
    this.area.value = text;
    this.mark([]);
  }

  scroll() {
    this.back.scrollTop = this.area.scrollTop;
    this.back.scrollLeft = this.area.scrollLeft;
  }

  /** Marks ranges `{start, end, kind, title}` of UTF-16 units, which are in order; what overlaps an earlier one is left out. */
  mark(ranges) {
    const text = this.value;
    const nodes = [];
    let at = 0;
    for (const { start, end, kind } of ranges) {
      if (start < at || start > text.length) continue;
      // An empty range, like the end of the text, needs something to underline.
      const stop = Math.max(end, start);
      nodes.push(text.slice(at, start), element("mark", { class: kind, text: stop > start && text.slice(start, stop) !== "\n" ? text.slice(start, stop) : ` ${text.slice(start, stop)}` }));
      at = stop;
    }
    // A final line end counts only if something follows it.
    nodes.push(`${text.slice(at)}\n`);
    this.back.replaceChildren(...nodes);
    this.scroll();
  }

  select(start, end = start) {
    this.area.focus();
    this.area.setSelectionRange(start, end);
    const line = this.value.slice(0, start).split("\n").length - 1;
    const height = parseFloat(getComputedStyle(this.area).lineHeight);
    if (line * height < this.area.scrollTop || (line + 2) * height > this.area.scrollTop + this.area.clientHeight) this.area.scrollTop = Math.max(0, (line - 3) * height);
  }
}
