// Requests to the user, as cards in the chat: a tool that needs a confirmation, and a question.
import { button, make, printed } from "./dom.js";
import { t } from "./i18n.js";

let cards = 0;

// labelOf is the text of an option, which is a string or an object.
const labelOf = (option) => printed(option?.label ?? option);

// makeRequests adds cards by add(element), and answers by send(message), which rejects if that fails.
export function makeRequests({ add, send, failed }) {
  const pending = new Set();

  function card(title) {
    const id = `request-${++cards}`;
    const element = make("article", "", { class: "card", role: "group", tabindex: "-1", "aria-labelledby": id });
    element.append(make("h3", title, { id }));
    return element;
  }

  // close takes the controls away and says how it ended.
  function close(element, outcome) {
    pending.delete(element);
    if (element.contains(document.activeElement)) element.focus(); // the controls can't keep it
    for (const control of element.querySelectorAll("button, textarea")) control.disabled = true;
    element.append(make("p", outcome, { class: "outcome" }));
  }

  function reopen(element) {
    pending.add(element);
    element.querySelector(".outcome").remove();
    for (const control of element.querySelectorAll("button, textarea")) control.disabled = false;
  }

  async function answer(element, type, requestId, response, outcome) {
    close(element, outcome);
    try {
      await send({ type, requestId, response });
    } catch (error) {
      reopen(element);
      failed(error);
    }
  }

  function confirmation(requestId, data) {
    const element = card(t("request.confirm", { tool: printed(data.toolName ?? "-") }));
    const say = (response, outcome) => () => answer(element, "tool_confirmation_response", requestId, response, outcome);
    const actions = make("div", "", { class: "actions" });
    actions.append(
      button(t("request.approve"), say("approve", t("request.approved")), { class: "primary" }),
      button(t("request.deny"), say("reject", t("request.denied"))),
    );
    if (data.arguments !== undefined) element.append(make("pre", printed(data.arguments), { tabindex: "0" }));
    element.append(actions);
    pending.add(add(element));
  }

  function question(requestId, data) {
    const element = card(t("request.question"));
    const say = (text) => answer(element, "user_question_response", requestId, text, t("request.answered", { answer: text }));
    const form = make("form", "", { class: "reply" });
    const field = make("textarea", "", { rows: "1", "aria-label": t("request.answer"), placeholder: t("request.answer") });
    const submit = () => { if (field.value.trim()) say(field.value); };
    form.append(field, make("button", t("request.reply"), { class: "primary" }));
    form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      submit();
    });
    element.append(make("p", printed(data.question ?? data.arguments ?? "")));
    if (Array.isArray(data.options) && data.options.length > 0) {
      const choices = make("div", "", { class: "options" });
      choices.append(...data.options.map(labelOf).map((text) => button(text, () => say(text))));
      element.append(choices);
    }
    element.append(form);
    pending.add(add(element));
  }

  // end closes what nobody waits for any more.
  function end() {
    for (const element of [...pending]) close(element, t("request.ended"));
  }

  return { confirmation, question, end };
}
