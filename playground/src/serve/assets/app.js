// The page: what is edited is checked by the server, and what it says is shown.

import { ask, cancelAll, info, onBusy } from "./api.js";
import { Allowed } from "./allowed.js";
import { documentMarks, showChips } from "./chips.js";
import { byId, debounced, element, replace, roving } from "./dom.js";
import { Editor } from "./editor.js";
import { dialectName, expectedNodes, showMessages, showWhy } from "./panels.js";
import { listenToSchemaOptions, parsedOptions, schemaOptions, setSchemaOptions } from "./schema.js";
import { decode, encode } from "./state.js";
import { Bytes, counted, number, time, visible } from "./text.js";

const CHECK_AFTER = 180;
const UNDO_MAX = 200;

const grammar = new Editor(byId("grammar-editor"));
const text = new Editor(byId("document-editor"));
const undoable = [];
let examples = [];
let written = "";
let forced = "";
let cursor = 0;
let seed = 1;

const allowed = new Allowed({
  load: (filter) => run("tokens", { filter }, (answer) => answer.allowed && allowed.show(answer.allowed)),
  insert: (token) => insert(token.text),
  explain: (token) => why(String(token.id)),
});

/** Returns what every request says. */
function question() {
  const document = new Bytes(text.value);
  return {
    grammar: grammar.value, dialect: byId("dialect").value, root: byId("root").value.trim() || null, schema: schemaOptions(), vocab: byId("vocab").value,
    document: document.text.toWellFormed?.() ?? document.text, cursor: document.byte(cursor),
  };
}

/** Asks the server, and shows the answer unless a newer request took its place. */
async function run(kind, more, show) {
  try {
    const answer = await ask(kind, { ...question(), ...more });
    if (answer === null) return;
    notice("");
    show(answer);
  } catch (error) {
    notice(sentence(error.message));
  }
}

const sentence = (message) => `${message[0]?.toUpperCase() ?? ""}${message.slice(1)}.`;

function notice(message) {
  byId("notice").textContent = message;
  byId("notice").hidden = message === "";
}

function check() {
  later.stop();
  followCaret();
  allowed.reset();
  // Pages of the old place would come too late.
  run("check", { filter: allowed.filter }, show);
  save();
}
const later = debounced(CHECK_AFTER, check);

/** Takes the place of the caret, which a text area keeps well only while it has the focus. */
function followCaret() {
  if (document.activeElement === text.area) cursor = text.area.selectionStart;
}

function moveTo(place) {
  cursor = place;
  text.area.setSelectionRange(place, place);
}

function show(answer) {
  const source = new Bytes(grammar.value);
  const report = answer.grammar;
  showMessages(report, source, (start, end) => grammar.select(source.unit(start), source.unit(end)));
  grammar.mark((report.is_ok ? report.warnings : [report.error]).filter((message) => message.start !== null)
    .map((message) => ({ start: source.unit(message.start), end: source.unit(message.end), kind: report.is_ok ? "warning" : "error" })).sort((one, other) => one.start - other.start));
  byId("root-field").hidden = report.dialect !== "ebnf";
  byId("schema-options").hidden = report.dialect !== "json_schema";
  if (!report.is_ok) {
    byId("grammar-status").textContent = `${dialectName(report.dialect)}: not compiled`;
    return clearDocument();
  }
  const parts = [dialectName(report.dialect), report.n_rules === null ? null : counted(report.n_rules, "rule"), counted(report.n_states, "state"), `compiled in ${time(report.compile_ns)}`];
  byId("grammar-status").textContent = parts.filter((part) => part !== null).join(" · ");
  showDocument(answer);
}

function clearDocument() {
  text.mark([]);
  forced = "";
  for (const id of ["chips", "expected", "document-status", "next-summary"]) byId(id).replaceChildren();
  replace(byId("expected"), element("p", { class: "hint", text: "The grammar does not compile yet." }));
  allowed.clear();
  byId("jump").disabled = byId("continue").disabled = true;
}

function showDocument(answer) {
  const bytes = new Bytes(text.value);
  const report = answer.document;
  text.mark(documentMarks(report, bytes));
  showChips(byId("chips"), report, bytes, bytes.byte(cursor), chooseChip);
  const state = report.error ? ["bad", report.error] : report.is_time_over ? ["bad", "not checked to the end: the time is over"] : report.refused_at !== null ? ["bad", `refused at byte ${number(report.refused_at)}`]
    : report.is_complete ? ["good", "complete"] : ["", "incomplete"];
  const mean = report.n_masks > 0 ? ` · ${time(report.mask_ns / report.n_masks)} per mask` : "";
  replace(byId("document-status"), element("b", { class: state[0], text: state[1] }), ` · ${counted(report.tokens.length, "token")} · ${counted(report.n_bytes, "byte")}${mean}`);
  const { n_allowed, n_tokens, mask_ns } = answer.allowed;
  const share = n_allowed === n_tokens ? "all" : number(n_allowed);
  const isBefore = answer.offset < bytes.byte(cursor);
  replace(byId("next-summary"), isBefore ? element("span", { class: "bad", text: `shown for byte ${number(answer.offset)}, where the text is refused · ` }) : "",
    element("b", { text: share }), ` of ${number(n_tokens)} tokens allowed · mask in ${time(mask_ns)}`, ...(answer.forced ? [" · forced: ", element("code", { class: "forced-text" }, ...visible(answer.forced.length > 40 ? `${answer.forced.slice(0, 40)}…` : answer.forced))] : []));
  replace(byId("expected"), ...expectedNodes(answer.expected));
  allowed.show(answer.allowed);
  forced = answer.forced;
  byId("jump").disabled = forced === "" || isBefore;
  byId("continue").disabled = false;
}

function chooseChip(token, index) {
  const bytes = new Bytes(text.value);
  const at = bytes.unit(token.start);
  moveTo(at);
  byId("why-token").value = "";
  check();
  why(token.id === null ? JSON.stringify(bytes.shown(token.start, token.end)) : String(token.id), bytes.byte(at));
  byId("chips").querySelectorAll("button")[index]?.focus();
}

function why(token, place) {
  const more = place === undefined ? { token } : { token, cursor: place };
  run("why", more, (answer) => {
    if (answer.why) showWhy(answer.why);
    else replace(byId("why"), element("p", { class: "hint", text: "The grammar does not compile yet." }));
  });
}

/** Changes the document by a command, which can be undone. */
function change(next, place) {
  remember();
  text.value = next;
  written = next;
  moveTo(place);
  check();
}

function remember() {
  undoable.push({ text: written, place: Math.min(cursor, written.length) });
  if (undoable.length > UNDO_MAX) undoable.shift();
  byId("undo").disabled = false;
}

function insert(piece) {
  followCaret();
  change(text.value.slice(0, cursor) + piece + text.value.slice(cursor), cursor + piece.length);
}

function undo() {
  const last = undoable.pop();
  if (!last) return;
  text.value = written = last.text;
  moveTo(last.place);
  byId("undo").disabled = undoable.length === 0;
  check();
}

function continueAtRandom() {
  const document = text.value;
  run("continue", { seed: seed++, max_tokens: 60 }, (answer) => {
    // What was typed meanwhile is not overwritten.
    if (!answer.continuation || text.value !== document) return;
    const before = document.slice(0, new Bytes(document).unit(answer.offset)) + answer.continuation.text;
    change(before, before.length);
    if (!answer.continuation.is_complete) notice("No end was found: the text stops before it is complete.");
  });
}

const save = debounced(400, async () => {
  const state = { grammar: grammar.value, document: text.value, dialect: byId("dialect").value, root: byId("root").value, vocab: byId("vocab").value, options: JSON.stringify(schemaOptions()) };
  try {
    history.replaceState(null, "", `#${await encode(state)}`);
  } catch { /* A browser limits how often an address changes. */ }
});

function load(state) {
  grammar.value = state.grammar ?? "";
  text.value = written = state.document ?? "";
  byId("dialect").value = state.dialect ?? "auto";
  byId("root").value = state.root ?? "";
  setSchemaOptions(parsedOptions(state.options ?? "{}"));
  if ([...byId("vocab").options].some((option) => option.value === state.vocab)) byId("vocab").value = state.vocab;
  if (byId("dialect").value === "") byId("dialect").value = "auto";
  moveTo(text.value.length);
  undoable.length = 0;
  byId("undo").disabled = true;
  forgetWhy();
  check();
}

/** An explanation is about one grammar. */
function forgetWhy() {
  replace(byId("why"), element("p", { class: "hint", text: "Choose a token of the document, or type one here." }));
}

/** Themes: as the system, light, dark. The choice is kept where the browser allows it. */
const THEMES = ["auto", "light", "dark"];
const system = matchMedia("(prefers-color-scheme: dark)");
let theme = "auto";
function setTheme(next) {
  theme = THEMES.includes(next) ? next : "auto";
  document.documentElement.dataset.theme = theme === "auto" ? (system.matches ? "dark" : "light") : theme;
  const name = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
  byId("theme").textContent = name;
  byId("theme").setAttribute("aria-label", `Theme: ${name}`);
  try { localStorage.setItem("theme", theme); } catch { /* Storage can be turned off. */ }
}

const SHORTCUTS = {
  Digit1: () => grammar.area.focus(), Digit2: () => text.area.focus(), Digit3: () => byId("search").focus(), Digit4: () => byId("why-token").focus(),
  KeyJ: () => byId("jump").click(), KeyR: () => byId("continue").click(), KeyU: () => byId("undo").click(),
};

function listen() {
  grammar.area.addEventListener("input", () => { grammar.mark([]); forgetWhy(); later(); });
  text.area.addEventListener("input", () => {
    // Typing is one step of undoing until something else happens.
    if (undoable.length === 0 || !undoable.at(-1).isTyping) {
      remember();
      undoable.at(-1).isTyping = true;
    }
    written = text.value;
    text.mark([]);
    later();
  });
  document.addEventListener("selectionchange", () => {
    if (document.activeElement === text.area && text.area.selectionStart !== cursor && text.value === written) later();
  });
  for (const id of ["dialect", "vocab"]) byId(id).addEventListener("change", check);
  byId("root").addEventListener("input", later);
  listenToSchemaOptions(check, later);
  byId("example").addEventListener("change", (event) => {
    const example = examples[event.target.value];
    if (example) load({ ...example, vocab: byId("vocab").value });
    event.target.value = "";
  });
  byId("undo").addEventListener("click", undo);
  byId("jump").addEventListener("click", () => forced !== "" && insert(forced));
  byId("continue").addEventListener("click", continueAtRandom);
  byId("cancel").addEventListener("click", cancel);
  byId("why-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const token = byId("why-token").value;
    if (token !== "") why(token);
  });
  byId("help").addEventListener("click", () => byId("help-dialog").showModal());
  byId("theme").addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]));
  system.addEventListener("change", () => setTheme(theme));
  roving(byId("chips"));
  addEventListener("hashchange", async () => {
    const state = await decode(location.hash.slice(1));
    if (state) load(state);
  });
  addEventListener("pagehide", cancelAll);
  document.addEventListener("keydown", (event) => {
    if (event.altKey && !event.ctrlKey && !event.metaKey && SHORTCUTS[event.code]) {
      event.preventDefault();
      SHORTCUTS[event.code]();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      check();
    } else if (event.key === "Escape" && !byId("help-dialog").open) {
      cancel();
    }
  });
  onBusy((isBusy) => { byId("busy").hidden = !isBusy; document.body.setAttribute("aria-busy", String(isBusy)); });
}

function cancel() {
  if (cancelAll()) notice("Cancelled. Edit the grammar or press Ctrl+Enter to check again.");
}

async function begin() {
  let kept = "auto";
  try { kept = localStorage.getItem("theme") ?? "auto"; } catch { /* Storage can be turned off. */ }
  setTheme(kept);
  listen();
  try {
    const known = await info();
    examples = known.examples;
    byId("example").append(...examples.map((example, index) => element("option", { value: String(index), text: example.name })));
    byId("vocab").append(...known.vocabularies.map((name) => element("option", { value: name, text: name === "bytes" ? "single bytes" : name })));
  } catch {
    return notice("The server can't be reached.");
  }
  load((await decode(location.hash.slice(1))) ?? examples[0]);
}

begin();
