// Elements. Text is only ever set as text: what a server says is no markup.

export const $ = (id) => document.getElementById(id);

export function make(name, text = "", attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export function button(text, onClick, attributes = {}) {
  const element = make("button", text, { type: "button", ...attributes });
  element.addEventListener("click", onClick);
  return element;
}

// printed shows a value that should be a string, whatever it is.
export function printed(value) {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

// keepEnd keeps the end of a box in sight when the box gets smaller, unless the user has scrolled away from it.
export function keepEnd(box) {
  let atEnd = true;
  let height = box.clientHeight;
  box.addEventListener("scroll", () => {
    if (box.clientHeight !== height) return; // it got smaller, and where it stands now is not what the user chose
    atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  });
  new ResizeObserver(() => {
    if (atEnd && box.clientHeight !== height) box.scrollTop = box.scrollHeight;
    height = box.clientHeight;
  }).observe(box);
}

// follow runs change, and scrolls the box to its end if that was in sight.
export function follow(box, change) {
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  change();
  if (atEnd) box.scrollTop = box.scrollHeight;
}
