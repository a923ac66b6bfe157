// Options of JSON Schemas: what is chosen, as requests and the address name it. What is as the standard says is left out.

import { byId } from "./dom.js";

const CHOICES = { white_space: "white-space", draft: "draft", spelling: "spelling" };
const SWITCHES = { lenient: "lenient", no_formats: "no-formats", no_additional_properties: "no-additional-properties", any_order: "any-order", integer_fractions: "integer-fractions", no_foreign_keywords: "no-foreign-keywords", nullable: "nullable" };

/** Returns the options that differ from the default. */
export function schemaOptions() {
  const options = {};
  for (const [name, id] of Object.entries(CHOICES)) {
    if (byId(id).value !== "") options[name] = byId(id).value;
  }
  for (const [name, id] of Object.entries(SWITCHES)) {
    if (byId(id).checked) options[name] = true;
  }
  const pointer = byId("pointer").value.trim();
  if (pointer !== "") options.pointer = pointer;
  return options;
}

/** Sets all options; an address can hold anything, so that only what there is to choose is taken. */
export function setSchemaOptions(options) {
  for (const [name, id] of Object.entries(CHOICES)) {
    const choices = [...byId(id).options].map((option) => option.value);
    byId(id).value = choices.includes(options[name]) ? options[name] : "";
  }
  for (const [name, id] of Object.entries(SWITCHES)) byId(id).checked = options[name] === true;
  byId("pointer").value = typeof options.pointer === "string" ? options.pointer : "";
  showNumber();
}

/** Says how many options differ from the default. */
export function showNumber() {
  const n = Object.keys(schemaOptions()).length;
  byId("schema-changed").textContent = n === 0 ? "" : ` · ${n} changed`;
}

/** Calls `check` when one is chosen, and `later` while the pointer is typed. */
export function listenToSchemaOptions(check, later) {
  for (const id of [...Object.values(CHOICES), ...Object.values(SWITCHES)]) byId(id).addEventListener("change", () => { showNumber(); check(); });
  byId("pointer").addEventListener("input", () => { showNumber(); later(); });
}

/** Returns the options of an address: a text, which may be anything. */
export function parsedOptions(text) {
  try {
    const options = JSON.parse(text);
    return options !== null && typeof options === "object" ? options : {};
  } catch {
    return {};
  }
}
