// Buttons that copy a message in the forms in which it can be sent again.
import { get } from "./api.js";
import { button, h } from "./dom.js";
import { t } from "./words.js";

const rest = 150; // milliseconds for which a message must stay selected

const forms = [["connect", "asConnect"], ["curl", "asCurl"], ["step", "asStep"]];

// copies makes a row of buttons, which comes when the server has said which forms there are.
export function copies(app, r) {
  const row = h("p", { class: "row-of-buttons copies", hidden: true });
  const { session } = app;
  setTimeout(async () => {
    if (!row.isConnected) return;
    try {
      const all = await get(`/sessions/${session.id}/copies?n=${r.n}`);
      const some = forms.filter(([form]) => all[form]);
      row.hidden = !some.length;
      row.replaceChildren(h("span", { class: "dim" }, t("copyAs")), ...some.map(([form, word]) => button(word, () =>
        app.do(() => navigator.clipboard.writeText(all[form]).then(() => app.say(t("copied")))),
      { class: "small", "data-form": form, "aria-label": `${t("copyAs")}: ${t(word)}` })));
    } catch { /* the session has ended */ }
  }, rest);
  return row;
}
