// What comes from the wire, made fit to be seen: control and format characters, also those that turn the direction of
// text, are shown as escapes.
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;
const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const escape = (c) => short[c] || (c.codePointAt(0) > 0xffff ? `\\u{${c.codePointAt(0).toString(16)}}` :
  "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));

// visible shows a text on one line.
export const visible = (text) => String(text ?? "").replace(unseen, escape);

// lines shows a text with its line ends.
export const lines = (text) => String(text ?? "").replace(unseen, (c) => (c === "\n" ? c : escape(c)));

// inOrder compares names, C2 before C10.
export const inOrder = new Intl.Collator("en", { numeric: true }).compare;

// bytesOf returns the bytes of a record.
export function bytesOf(r) {
  if (typeof r.text === "string") return new TextEncoder().encode(r.text);
  if (typeof r.base64 === "string") return Uint8Array.from(atob(r.base64), (c) => c.charCodeAt(0));
  return new Uint8Array();
}

// hex shows bytes as a dump, at most `most` of them.
export function hex(bytes, most = 4096) {
  const out = [];
  for (let i = 0; i < Math.min(bytes.length, most); i += 16) {
    const row = [...bytes.slice(i, i + 16)];
    const codes = row.map((b) => b.toString(16).padStart(2, "0"));
    const text = row.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : "·")).join("");
    out.push(`${i.toString(16).padStart(6, "0")}  ${codes.slice(0, 8).join(" ").padEnd(23)}  ` +
      `${codes.slice(8).join(" ").padEnd(23)}  ${text}`);
  }
  return out.join("\n");
}

export const base64 = (bytes) => {
  let s = "";
  for (let i = 0; i < bytes.length; i += 0x8000) s += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(s);
};
