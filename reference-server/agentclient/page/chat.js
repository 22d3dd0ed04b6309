// The chat: plain text in bubbles, one transcript per session.
import { button, follow, keepEnd, make, printed } from "./dom.js";
import { knows, t } from "./i18n.js";

const clock = () => new Date().toTimeString().slice(0, 5); // locales take long to load, and both languages write it so

export function makeChat(box) {
  const transcripts = new Map(); // session → its elements, while another is shown
  let shown = null;
  let open = null; // text of the bubble that is being streamed
  let lastSent = null;
  keepEnd(box);

  function add(element) {
    follow(box, () => box.append(element));
    return element;
  }

  function bubble(role, text) {
    const element = make("article", "", { class: "bubble", "data-role": role });
    const head = make("header");
    head.append(make("b", knows(`role.${role}`) ? t(`role.${role}`) : role), make("time", clock()));
    element.append(head, make("p", text));
    return add(element);
  }

  const textOf = (element) => element.querySelector("p");

  // user shows what the user said, in sight; failed(reason) says below it that it was not sent.
  function user(text) {
    done();
    lastSent = text;
    const element = bubble("user", text);
    box.scrollTop = box.scrollHeight;
    return {
      failed: (reason) => element.append(make("small", t("chat.notSent", { reason }))),
      // refused marks what the server refused as busy, with a button that sends it again.
      refused(again) {
        if (element.querySelector(".refused")) return;
        const mark = make("div", "", { class: "refused" });
        mark.append(make("small", t("chat.refused")), button(t("chat.again"), () => { mark.remove(); again(); }));
        follow(box, () => element.append(mark));
      },
    };
  }

  function system(text) {
    const element = make("p", "", { class: "system" });
    element.append(make("span", t("role.system")), " ", make("span", text));
    add(element);
  }

  // message shows a message event: parts are added to the open bubble, and the whole text takes its place.
  function message({ role = "assistant", content, streaming }) {
    if (role === "user" && content === lastSent) return; // an echo
    const text = printed(content);
    if (open && open.parentElement.dataset.role !== role) done();
    if (!open) {
      open = textOf(bubble(printed(role), ""));
      open.parentElement.setAttribute("aria-busy", "true");
    }
    follow(box, () => {
      if (streaming) open.append(text);
      else if (text) open.textContent = text;
    });
    if (!streaming) done();
  }

  // done closes the bubble that is being streamed.
  function done() {
    open?.parentElement.removeAttribute("aria-busy");
    open = null;
  }

  // show brings up the transcript of a session: what this page has of it, else what the server sent along.
  function show(session, history) {
    if (session === shown) return;
    done();
    transcripts.set(shown, [...box.childNodes]);
    shown = session;
    box.replaceChildren(...(transcripts.get(session) ?? []));
    if (box.childElementCount === 0 && Array.isArray(history)) {
      for (const { role, content } of history) bubble(printed(role), printed(content));
    }
    box.scrollTop = box.scrollHeight;
  }

  return { user, system, message, done, show, add };
}
