"use strict";
// Filters the tables and opens what a link points into. Without it the page shows everything.
for (const form of document.querySelectorAll("form.filter")) {
  const items = [...document.getElementById(form.dataset.for).querySelectorAll(".item")];
  const words = new Map(items.map((item) => [item, item.textContent.toLowerCase()]));
  const apply = () => {
    const outcome = form.elements.outcome.value;
    const level = form.elements.level ? form.elements.level.value : "";
    const text = form.elements.text.value.trim().toLowerCase();
    let shown = 0;
    for (const item of items) {
      item.hidden = (outcome && item.dataset.outcome !== outcome) || (level && item.dataset.level !== level) ||
        (text && !words.get(item).includes(text));
      if (!item.hidden) shown++;
    }
    for (const feature of document.querySelectorAll("#" + form.dataset.for + " .feature")) {
      feature.hidden = !feature.querySelector(".item:not([hidden])");
    }
    form.querySelector("output").textContent = shown === items.length ? "" : shown + " of " + items.length + " shown";
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply(); // a browser may have kept the fields from an earlier visit
}

function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let e = target; e; e = e.parentElement) {
    e.hidden = false;
    if (e.tagName === "DETAILS") e.open = true;
  }
  target.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", reveal);
reveal();

// Paper cannot be unfolded: everything is open while it prints.
const folded = [];
addEventListener("beforeprint", () => {
  for (const d of document.querySelectorAll("details:not([open])")) { folded.push(d); d.open = true; }
});
addEventListener("afterprint", () => { for (const d of folded.splice(0)) d.open = false; });
