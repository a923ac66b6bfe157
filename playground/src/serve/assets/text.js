// Offsets in bytes, as the server counts, and in UTF-16 units, as text areas do; and how texts and numbers are shown.

import { element } from "./dom.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** A text with the offsets of its bytes. */
export class Bytes {
  constructor(text) {
    this.text = text;
    this.bytes = encoder.encode(text);
    // Unpaired surrogates become three bytes each, as U+FFFD: one unit, three bytes.
    this.units = new Uint32Array(this.bytes.length + 1);
    this.offsets = new Uint32Array(text.length + 1);
    let byte = 0;
    for (let unit = 0; unit < text.length;) {
      const code = text.codePointAt(unit);
      const [nUnits, nBytes] = code > 0xffff ? [2, 4] : [1, code > 0x7ff ? 3 : code > 0x7f ? 2 : 1];
      this.offsets.fill(byte, unit, unit + nUnits);
      this.units.fill(unit, byte, byte + nBytes);
      unit += nUnits;
      byte += nBytes;
    }
    this.units[byte] = text.length;
    this.offsets[text.length] = byte;
  }

  /** The UTF-16 offset of a byte; within a character that of the character. */
  unit(byte) { return this.units[Math.min(byte, this.bytes.length)]; }

  /** The byte offset of a UTF-16 unit. */
  byte(unit) { return this.offsets[Math.min(unit, this.text.length)]; }

  /** The bytes as text; bytes that are no character as `\xNN`. */
  shown(start, end) {
    const bytes = this.bytes.subarray(start, end);
    try {
      return decoder.decode(bytes);
    } catch {
      return [...bytes].map((byte) => (byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : hex(byte))).join("");
    }
  }
}

export const hex = (byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`;

const SIGNS = { " ": "·", "\n": "⏎", "\r": "\\r", "\t": "⇥" };

/** A text in which white space can be seen, as nodes. */
export function visible(text) {
  return text.split(/([ \n\r\t]+)/).filter((part) => part !== "").map((part) =>
    part[0] in SIGNS
      ? element("span", { class: "space", text: [...part].map((sign) => SIGNS[sign]).join("") })
      : document.createTextNode(part.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "�")));
}

export const number = (n) => n.toLocaleString("en");
export const counted = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;

/** A time in a unit that suits it. */
export function time(nanoseconds) {
  const [value, unit] = nanoseconds < 1e3 ? [nanoseconds, "ns"] : nanoseconds < 1e6 ? [nanoseconds / 1e3, "µs"] : nanoseconds < 1e9 ? [nanoseconds / 1e6, "ms"] : [nanoseconds / 1e9, "s"];
  return `${value < 10 && unit !== "ns" ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** Decodes a token as the server quotes it, for showing: without the quotes. */
export const unquoted = (text) => (text.length > 1 && text.startsWith("'") && text.endsWith("'") ? text.slice(1, -1) : text);
