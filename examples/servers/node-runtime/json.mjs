// JSON that gives back what it read: a payload is passed on unchanged (4 G), and so are its numbers. JSON.parse would round
// 12345678901234567890 and turn 1.0 into 1, so a number that a double does not print alike is kept as it was written.
import { randomUUID } from 'node:crypto';

const mark = `${randomUUID()}:`;
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const marked = new RegExp(`"${mark}([^"]*)"`, 'g');

class WrittenNumber {
  #text;

  constructor(text) {
    this.#text = text;
  }

  toJSON() {
    return mark + this.#text;
  }
}

/** Like JSON.parse; a number without an exact double comes as an opaque object that {@link stringify} writes back. */
export function parse(text) {
  const plain = JSON.parse(text);
  const rewritten = text.replace(tokens, (token) => (token[0] === '"' || String(Number(token)) === token ? token : `"${mark}${token}"`));
  if (rewritten === text) return plain;
  const revive = (key, value) => (typeof value === 'string' && value.startsWith(mark) ? new WrittenNumber(value.slice(mark.length)) : value);
  return JSON.parse(rewritten, revive);
}

/** Like JSON.stringify, with the numbers that {@link parse} kept. */
export function stringify(value) {
  return JSON.stringify(value).replace(marked, '$1');
}
