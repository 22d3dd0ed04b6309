// Light and dark: as the system has it, until the user chooses.
import { $ } from "./dom.js";
import { onLanguage, t } from "./i18n.js";
import { recall, remember } from "./storage.js";

const themes = ["auto", "light", "dark"];
const signs = { auto: "◐", light: "☀", dark: "☾" };
let theme = themes.includes(recall("theme")) ? recall("theme") : "auto";

function show() {
  document.documentElement.dataset.theme = theme;
  const label = t("theme", { theme: t(`theme.${theme}`) });
  $("themeBtn").textContent = signs[theme];
  $("themeBtn").setAttribute("aria-label", label);
  $("themeBtn").title = label;
}

export function startTheme() {
  $("themeBtn").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    remember("theme", theme);
    show();
  });
  onLanguage(show);
}
