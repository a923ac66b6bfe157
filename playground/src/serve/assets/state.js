// The state of the page in the fragment of its address: JSON, deflated where the browser can, in base64url.

async function through(bytes, transform) {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
}

/** Returns the fragment of a state. */
export async function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  if (typeof CompressionStream === "undefined") return `p.${toBase64(bytes)}`;
  return `d.${toBase64(await through(bytes, new CompressionStream("deflate-raw")))}`;
}

const INFLATED_MAX = 1 << 20;

/** Returns the state of a fragment; `null` if it has none. A fragment comes from anywhere: only texts of known names are taken. */
export async function decode(fragment) {
  try {
    const [kind, text] = [fragment.slice(0, 2), fragment.slice(2)];
    if (kind !== "d." && kind !== "p.") return null;
    let bytes = fromBase64(text);
    if (kind === "d.") bytes = await inflated(bytes);
    const read = JSON.parse(new TextDecoder().decode(bytes));
    const state = {};
    for (const name of ["grammar", "document", "dialect", "root", "vocab", "options"]) {
      if (typeof read[name] === "string") state[name] = read[name];
    }
    return state;
  } catch {
    return null;
  }
}

async function inflated(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const chunks = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > INFLATED_MAX) throw new Error("too long");
    chunks.push(value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
