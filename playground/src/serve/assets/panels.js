// Messages about the grammar; what is expected; why a token is allowed or not.

import { byId, element, replace } from "./dom.js";
import { counted, number, unquoted, visible } from "./text.js";

const DIALECTS = { ebnf: "EBNF", lark: "Lark", regex: "Regular expression", json_schema: "JSON Schema", structural_tag: "Structural tag" };

export const dialectName = (dialect) => DIALECTS[dialect] ?? dialect;

/** Shows errors and warnings of a grammar; `select(start, end)` shows a place, in bytes. */
export function showMessages(grammar, source, select) {
  const messages = grammar.is_ok ? grammar.warnings : [grammar.error];
  const kind = grammar.is_ok ? "warning" : "error";
  const items = messages.map((message) => {
    const place = message.line ? `line ${message.line}, column ${message.column}` : null;
    return element("li", { class: kind },
      element("div", { class: "title" },
        element("span", { class: "kind", text: kind === "error" ? "Error" : "Warning" }), element("span", { class: "message", text: message.message }),
        place && element("button", { type: "button", class: "place", text: place, onclick: () => select(message.start, message.end) })),
      message.line && kind === "error" ? caret(source.text, message) : null,
      message.pointer ? element("p", { class: "hint", text: `at ${message.pointer}${message.keyword ? `, keyword ${message.keyword}` : ""}` }) : null,
      message.hint ? element("p", { class: "message-hint", text: `Hint: ${message.hint}` }) : null);
  });
  const hidden = grammar.is_ok ? grammar.n_warnings - items.length : 0;
  if (hidden > 0) items.push(element("li", { class: "warning", text: `and ${number(hidden)} more warnings` }));
  replace(byId("grammar-messages"), ...items);
}

/** The line of an error with a caret below it. Long lines are cut. */
function caret(text, { line, column }) {
  const signs = [...(text.split("\n")[line - 1] ?? "")];
  const from = Math.max(0, column - 1 - 60);
  const shown = signs.slice(from, from + 100).join("").replaceAll("\t", " ");
  return element("pre", {}, `${shown}\n`, element("span", { class: "caret", text: `${" ".repeat(column - 1 - from)}^` }));
}

/** Returns what is expected, as nodes. */
export function expectedNodes(expected) {
  const isWords = expected.schema !== null;
  const items = expected.items.map(({ what, rules }) => element("li", {},
    element("span", { class: isWords ? "words" : "what", text: what }),
    rules.length > 0 ? element("span", { class: "rules", text: rules.length > 3 ? `${rules.slice(0, 2).join(", ")} and ${rules.length - 2} more` : rules.join(", ") }) : null));
  const hidden = expected.n_items - expected.items.length;
  if (hidden > 0) items.push(element("li", {}, element("span", { class: "hint", text: `and ${number(hidden)} more` })));
  if (expected.may_end) items.push(element("li", {}, element("span", { class: "good", text: "the end of the text" })));
  if (items.length === 0) items.push(element("li", {}, element("span", { class: "hint", text: "nothing" })));
  const nodes = [element("ul", { class: "items" }, ...items)];
  if (expected.schema) nodes.push(schemaNode(expected.schema));
  if (expected.open_rules.length > 0) nodes.push(part("Open rules, innermost first", path(expected.open_rules)));
  if (expected.completion && !expected.may_end) nodes.push(part(expected.completion.is_shortest ? "Shortest completion" : "A completion", element("p", { class: "path" }, ...visible(unquoted(expected.completion.text)))));
  if (!expected.is_whole) nodes.push(element("p", { class: "hint", text: "The text is too long or too ambiguous for an explanation by rules." }));
  return nodes;
}

const CONSTRAINTS_MAX = 12;

function schemaNode({ pointer, constraints, notes }) {
  const items = constraints.slice(0, CONSTRAINTS_MAX).map(({ words, location, holds }) => element("li", { class: "constraint" },
    element("span", { class: "words", text: holds ? words : `in an alternative: ${words}` }), element("span", { class: "location", text: location })));
  if (constraints.length > CONSTRAINTS_MAX) items.push(element("li", { class: "hint", text: `and ${number(constraints.length - CONSTRAINTS_MAX)} more` }));
  const title = element("h3", {}, "Schema at ", pointer ? element("code", { text: pointer }) : "the root of the document");
  return element("div", { class: "sub" }, title, ...(items.length > 0 ? [element("ul", { class: "items" }, ...items)] : []), ...notes.map((note) => element("p", { class: "note", text: sentence(note) })));
}

/** Begins with a capital, unless a quotation does. */
const sentence = (text) => `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`;

const part = (title, ...children) => element("div", { class: "sub" }, element("h3", { text: title }), ...children);

function path(rules) {
  const shown = rules.slice(0, 12).flatMap((rule, index) => [index > 0 ? element("span", { class: "sep", text: "‹" }) : null, rule]);
  if (rules.length > 12) shown.push(element("span", { class: "sep", text: `… ${counted(rules.length - 12, "more rule")}` }));
  return element("p", { class: "path" }, ...shown);
}

/** Shows why a token is allowed or not. */
export function showWhy(why) {
  const verdict = element("p", { class: "verdict" },
    element("span", { class: `badge ${why.is_allowed ? "yes" : "no"}`, text: why.is_allowed ? "allowed" : "not allowed" }),
    element("code", {}, ...visible(unquoted(why.shown))),
    element("span", { class: "hint", text: why.id !== null && why.id !== undefined ? `token ${why.id}` : "no single token" }));
  const nodes = [verdict, element("p", { text: `${sentence(why.reason)}.` })];
  if (why.n_read !== undefined && why.n_read < why.n_bytes) {
    nodes.push(element("p", { class: "reading", "aria-label": `read: ${why.read}, refused: ${why.unread}` },
      element("span", { class: "read" }, ...visible(unquoted(why.read))), element("span", { class: "unread" }, ...visible(unquoted(why.unread)))));
  }
  if (why.readers?.first.length > 0) nodes.push(part("Read by rule", path(why.readers.first)));
  if (why.readers?.open_after.length > 0) nodes.push(part("Open rules after it", path(why.readers.open_after)));
  if (why.expected && !why.is_allowed) {
    const [list, ...rest] = expectedNodes(why.expected);
    const isWithin = why.n_read > 0 && why.n_read < why.n_bytes;
    // At its beginning the rest stands beside it already, as what is expected at the cursor.
    nodes.push(part(isWithin ? "Expected there instead" : "Expected instead", list), ...(isWithin ? rest : []));
  }
  for (const line of why.exclusions ?? []) nodes.push(element("p", { class: "hint", text: `${sentence(line)}.` }));
  replace(byId("why"), ...nodes);
}
