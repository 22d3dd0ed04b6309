// The differences of two messages, line by line.
import { h } from "./dom.js";
import { lines } from "./safe.js";
import { t } from "./words.js";

const mostLines = 400; // of each text, since all pairs of lines are compared

// pretty writes JSON on many lines; another text stays as it is.
const pretty = (text) => { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } };

// diffLines lists the lines of two texts: ["-", line] only in the first, ["+", line] only in the second, [" ", line] in both.
export function diffLines(before, after) {
  const [a, b] = [before, after].map((text) => text.split("\n").slice(0, mostLines));
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1)); // lines from i and j on
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const out = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { out.push([" ", a[i++]]); j++; }
    else if (j >= b.length || i < a.length && common[i + 1][j] >= common[i][j + 1]) out.push(["-", a[i++]]);
    else out.push(["+", b[j++]]);
  }
  return out;
}

// diffView shows what was made of a message.
export function diffView(before, after) {
  const rows = diffLines(pretty(before), pretty(after)).map(([sign, line]) => h("span", { class: { "-": "del", "+": "ins" }[sign] || "" },
    h("i", {}, sign + " "), lines(line) + "\n"));
  return h("pre", { class: "wrap diff", dir: "ltr", tabindex: "0", role: "group", "aria-label": t("edited") }, rows);
}
