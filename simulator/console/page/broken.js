// The ways in which a message can be malformed.
import { base64 } from "./safe.js";

const encoder = new TextEncoder();
const other = (v) => (typeof v === "string" ? 7 : typeof v === "number" ? "seven" : Array.isArray(v) ? {} : []);

// ways lists [key of the word, its value, text or bytes] for a correct message. The prefix comes before each.
export const ways = (text, prefix = "") => plain(text).map(([key, name, m]) => [key, name,
  typeof m === "string" ? prefix + m : Uint8Array.from([...encoder.encode(prefix), ...m])]);

function plain(text) {
  const all = [["cutOff", "", text.slice(0, Math.max(1, Math.floor(text.length / 2)))], ["noJson", "", "hello"]];
  let v = null;
  try { v = JSON.parse(text); } catch { /* no JSON: no members to change */ }
  const keys = v && typeof v === "object" && !Array.isArray(v) ? Object.keys(v) : [];
  for (const k of keys) {
    const { [k]: _, ...rest } = v;
    all.push(["missing", k, JSON.stringify(rest)]);
  }
  for (const k of keys) all.push(["wrongType", k, JSON.stringify({ ...v, [k]: other(v[k]) })]);
  if (keys.includes("type")) all.push(["unknownType", "", JSON.stringify({ ...v, type: "no_such_type" })]);
  if (keys.length) {
    const k = keys[0];
    all.push(["duplicate", k, `{${JSON.stringify(k)}:${JSON.stringify(other(v[k]))},${JSON.stringify(v).slice(1)}`]);
  }
  const bytes = encoder.encode(text);
  const at = Math.max(1, Math.floor(bytes.length / 2));
  all.push(["badUtf8", "", Uint8Array.from([...bytes.slice(0, at), 0xc3, 0x28, 0xff, ...bytes.slice(at)])]);
  const pad = "x".repeat(1 << 20);
  all.push(["huge", "", keys.length ? JSON.stringify({ ...v, padding: pad }) : text + pad]);
  return all;
}

// bodyOf returns the members of a request for a text or bytes.
export const bodyOf = (message) => (typeof message === "string" ? { text: message } : { base64: base64(message) });
