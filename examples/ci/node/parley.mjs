// Parley as a process, and the API of the peer that it plays.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export const PARLEY = process.env.PARLEY ?? 'parley';

// start runs a command that prints URLs on its first lines, and serves until it is ended.
export async function start(count, ...args) {
  const child = spawn(PARLEY, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const urls = [];
  while (urls.length < count) {
    urls.push((await lines.next()).value);
  }
  return { urls, close: () => { child.kill(); return ended; } };
}

// peer is a server that `parley simulate` plays.
export async function peer(...flags) {
  const process = await start(2, 'simulate', '--protocol', 'agent-select', '--as', 'server', ...flags);
  const [page, url] = process.urls;
  return { url, close: process.close, call: async (method, path, body) => {
    const answer = await fetch(`${page}/api/v1/sessions/1${path}`, { method, headers: { 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body) });
    if (!answer.ok) {
      throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    }
    return answer.json();
  } };
}
