// The HTTP API. Every function returns a promise, which fails with the error's sentence.
const base = "/api/v1";

export async function call(method, path, body, signal) {
  const init = { method, signal, headers: {} };
  if (body !== undefined) {
    init.headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  const res = await fetch(base + path, init);
  const text = await res.text();
  const json = /^application\/json(;|$)/.test(res.headers.get("Content-Type") || "");
  const value = json && text ? JSON.parse(text) : text;
  if (!res.ok) {
    const err = new Error((value && value.error) || `HTTP ${res.status}`);
    err.similar = (value && value.similar) || [];
    throw err;
  }
  return value;
}

export const get = (path) => call("GET", path);
export const post = (path, body = {}) => call("POST", path, body);
export const put = (path, body) => call("PUT", path, body);

const kept = new Map();

// once asks for what does not change while the console runs.
export function once(path) {
  if (!kept.has(path)) kept.set(path, get(path).catch((e) => { kept.delete(path); throw e; }));
  return kept.get(path);
}

// follow streams the events of a session after a record, and returns a function that ends it.
export function follow(id, on, after = 0) {
  const es = new EventSource(`${base}/sessions/${encodeURIComponent(id)}/events${after ? "?after=" + after : ""}`);
  for (const name of ["record", "finding", "judged", "outcomes", "held", "owed", "state", "run"]) {
    es.addEventListener(name, (e) => on(name, JSON.parse(e.data)));
  }
  es.onopen = () => on("link", true);
  es.onerror = () => on("link", false);
  return () => es.close();
}
