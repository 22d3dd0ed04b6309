// What the page remembers between visits. Where storage is forbidden it remembers nothing, and says nothing of it.

export function recall(name) {
  try {
    return localStorage.getItem(`parley.${name}`);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(`parley.${name}`, value);
  } catch {
    // forgotten when the page is left
  }
}
