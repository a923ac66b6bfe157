// The allowed tokens: groups by first byte, search, pages.

import { byId, debounced, element, replace, rove, roving } from "./dom.js";
import { hex, number, unquoted, visible } from "./text.js";

const PAGE = 60;
const GROUPS_MAX = 14;

export class Allowed {
  /** `load(filter)` asks for a page; `insert(token)` and `explain(token)` act on a token. */
  constructor({ load, insert, explain }) {
    Object.assign(this, { load, insert, explain, filter: fresh(), allGroups: false });
    byId("search").addEventListener("input", debounced(150, () => this.go({ search: byId("search").value, skip: 0 })));
    byId("previous").addEventListener("click", () => this.go({ skip: Math.max(0, this.filter.skip - PAGE) }));
    byId("next").addEventListener("click", () => this.go({ skip: this.filter.skip + PAGE }));
    roving(byId("tokens"));
  }

  go(change) {
    this.filter = { ...this.filter, ...change };
    this.load(this.filter);
  }

  /** Forgets group and page, since the place has changed; the search stays. */
  reset() { this.filter = { ...fresh(), search: this.filter.search }; }

  clear() {
    for (const id of ["groups", "tokens", "page"]) byId(id).replaceChildren();
    byId("previous").disabled = byId("next").disabled = true;
  }

  show(report) {
    this.report = report;
    this.showGroups(report);
    const tokens = report.tokens.map((token) => {
      const label = `${token.shown}${token.kind === "text" ? "" : `, ${token.kind}`}`;
      return element("button", {
        type: "button", title: `${token.kind === "text" ? "token" : token.kind} ${token.id}${token.text === null ? ": can't be typed, so choosing it explains it" : ""}`, "aria-label": label,
        onclick: (event) => (event.altKey || token.text === null ? this.explain(token) : this.insert(token)),
      }, ...visible(token.kind === "text" && token.text !== null ? token.text : unquoted(token.shown)));
    });
    rove(tokens);
    const nothing = report.error ?? (report.is_stuck ? "No token of the vocabulary can go on, and the text is not complete." : report.n_allowed === 0 ? "No token may follow." : "No allowed token holds this.");
    replace(byId("tokens"), ...(tokens.length > 0 ? tokens : [element("p", { class: "hint", text: nothing })]));
    const last = report.skip + report.tokens.length;
    byId("page").textContent = tokens.length > 0 ? `${number(report.skip + 1)}–${number(last)} of ${number(report.n_matching)}` : "";
    byId("previous").disabled = report.skip === 0;
    byId("next").disabled = last >= report.n_matching;
  }

  showGroups(report) {
    const groups = [...report.groups].sort((one, other) => other.n - one.n);
    const pressed = this.filter.first_byte;
    const shown = this.allGroups ? groups : groups.filter((group, index) => index < GROUPS_MAX || group.byte === pressed);
    const buttons = shown.map(({ byte, n }) => element("button", {
      type: "button", "aria-pressed": String(byte === pressed), title: `${number(n)} allowed tokens begin with this byte`,
      onclick: () => this.go({ first_byte: byte === pressed ? null : byte, skip: 0 }),
    }, ...groupName(byte), element("span", { class: "n", text: number(n) })));
    const hidden = groups.length - shown.length;
    const more = hidden > 0 || this.allGroups ? element("button", { type: "button", text: this.allGroups ? "fewer" : `${hidden} more`, onclick: () => { this.allGroups = !this.allGroups; this.showGroups(this.report); } }) : null;
    replace(byId("groups"), ...(groups.length > 1 ? buttons : []), groups.length > 1 ? more : null);
  }
}

const fresh = () => ({ search: "", first_byte: null, skip: 0, limit: PAGE });

function groupName(byte) {
  if (byte === 256) return ["control"];
  return byte >= 0x7f || (byte < 0x20 && ![9, 10, 13].includes(byte)) ? [hex(byte)] : visible(String.fromCharCode(byte));
}
