// Elements. Text is only ever set as text: what agents say is no markup.

export const $ = (id) => document.getElementById(id);

// make makes an element.
export function make(name, text, attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// setText changes a text only if it differs: a screen reader says what changes.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
