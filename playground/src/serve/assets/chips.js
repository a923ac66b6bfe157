// The tokens of the document, coloured by verdict.

import { element, rove } from "./dom.js";
import { number, visible } from "./text.js";

const SHOWN_MAX = 600;

const WORDS = { allowed: "allowed", forced: "forced", refused: "refused", after: "after the refused token" };

/** Shows the tokens of a report in `parent`. `bytes` is the document; `choose(token, index)` is called for a chosen one. */
export function showChips(parent, report, bytes, cursor, choose) {
  const shown = report.tokens.slice(0, SHOWN_MAX);
  let current = 0;
  const chips = shown.map((token, index) => {
    const text = bytes.shown(token.start, token.end);
    const isHere = token.start <= cursor && cursor < token.end;
    if (isHere) current = index;
    const mask = token.n_allowed === null ? "" : `, ${number(token.n_allowed)} allowed here`;
    const id = token.id === null ? "no token of the vocabulary" : `token ${token.id}`;
    return element("button", {
      type: "button", class: `chip ${token.verdict ?? ""}`, "aria-current": isHere ? "true" : null, title: `${id}: ${WORDS[token.verdict] ?? "not judged"}${mask}`,
      "aria-label": `${text}: ${WORDS[token.verdict] ?? "not judged"}${mask}`, onclick: () => choose(token, index),
    }, element("span", { class: "text" }, ...visible(text)), element("span", { class: "n", text: token.n_allowed === null ? "–" : number(token.n_allowed) }));
  });
  // A chip that has the focus keeps it, as its successor at the same index.
  const focused = [...parent.children].indexOf(document.activeElement);
  rove(chips, focused >= 0 && focused < chips.length ? focused : current);
  const more = report.tokens.length - shown.length;
  parent.replaceChildren(...chips, ...(more > 0 ? [element("span", { class: "hint", text: `and ${number(more)} more` })] : []));
  if (focused >= 0) (chips[focused] ?? parent).focus();
}

/** Returns the marks of a report for the editor: neighbours with the same verdict in one. */
export function documentMarks(report, bytes) {
  const marks = [];
  for (const token of report.tokens) {
    if (token.verdict === "allowed" || token.verdict === null) continue;
    const [start, end] = [bytes.unit(token.start), bytes.unit(token.end)];
    const last = marks.at(-1);
    if (last && last.kind === token.verdict && last.end === start) last.end = end;
    else marks.push({ start, end, kind: token.verdict });
  }
  return marks;
}
