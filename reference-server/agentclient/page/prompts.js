// Prompts stand above the chat, in the flow of the page: they cover nothing and stay until dismissed or out of date.
import { button, make } from "./dom.js";
import { t } from "./i18n.js";

const most = 4;

export function makePrompts(box) {
  // show adds a prompt. A newer one with the same text takes the older one's place.
  function show(text, { level = "error", topic = "", details = "", action = null, until = "" } = {}) {
    const prompt = make("div", "", { class: "prompt", "data-level": level, "data-topic": topic, "data-until": until });
    const words = make("div", "", { class: "words" });
    words.append(make("p", text));
    if (details) words.append(make("p", details, { class: "details" }));
    prompt.append(words);
    if (action) prompt.append(button(action.text, () => { prompt.remove(); action.run(); }));
    prompt.append(button("×", () => prompt.remove(), { class: "quiet", "aria-label": t("dismiss") }));
    for (const old of [...box.children]) {
      if (old.querySelector("p").textContent === text) old.remove();
    }
    box.append(prompt);
    while (box.children.length > most) box.firstElementChild.remove();
  }

  // clear takes away the prompts of a topic, once they are out of date.
  function clear(topic) {
    for (const old of box.querySelectorAll(`[data-topic="${topic}"]`)) old.remove();
  }

  // passed takes away the prompts that held until something ended.
  function passed(end) {
    for (const old of box.querySelectorAll(`[data-until="${end}"]`)) old.remove();
  }

  return { show, clear, passed };
}
