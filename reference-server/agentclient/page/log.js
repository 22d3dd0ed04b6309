// The event log: one row per event, with its level, time, type and content, and what came over the wire on demand.
import { follow, make } from "./dom.js";

const most = 500; // rows

const two = (n) => String(n).padStart(2, "0");

// readable writes a time as local date and clock.
function readable(time) {
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  const clock = [two(time.getHours()), two(time.getMinutes()), two(time.getSeconds())].join(":");
  return `${day} ${clock}`;
}

// timeOf is the server's timestamp, at the top of the event or in its data, else the time of receipt.
function timeOf(event) {
  const said = event?.timestamp || event?.data?.timestamp;
  return said || new Date();
}

// timeElement shows a timestamp; one that is no time is shown as it is.
function timeElement(said) {
  const time = new Date(said);
  if (Number.isNaN(time.getTime())) return make("time", String(said));
  return make("time", readable(time), { datetime: time.toISOString() });
}

export function makeLog(box, filter, clear) {
  const passes = (row) => filter.value === "" || row.dataset.level === filter.value;

  // add writes a row. raw is shown when the row is opened: an event, or a message that was sent.
  function add(level, type, text, raw = undefined, time = timeOf(raw)) {
    const row = make(raw === undefined ? "div" : "details", "", { "data-level": level, class: "row" });
    const head = make(raw === undefined ? "div" : "summary", "", { class: "line" });
    head.append(
      timeElement(time),
      make("span", level, { class: "level" }),
      make("b", type),
      make("span", text, { class: "content" }),
    );
    row.append(head);
    if (raw !== undefined) {
      row.addEventListener("toggle", () => {
        if (row.open && !row.querySelector("pre")) row.append(make("pre", JSON.stringify(raw, null, 2), { tabindex: "0" }));
      });
    }
    row.hidden = !passes(row);
    follow(box, () => {
      box.append(row);
      while (box.children.length > most) box.firstElementChild.remove();
    });
  }

  filter.addEventListener("change", () => {
    for (const row of box.children) row.hidden = !passes(row);
  });
  clear.addEventListener("click", () => box.replaceChildren());

  return { add };
}
