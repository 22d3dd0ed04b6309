// A server of AG-UI over its official encoder. What the last message of a run says chooses what the agent plays of
// sequences.json; FAULT=name breaks that as the file says. It listens on 127.0.0.1 and prints its URL.
import { createServer } from "node:http";
import { EventEncoder } from "@ag-ui/encoder";
import { faults, sequenceOf } from "./sequences.mjs";

const fault = faults.find((f) => f.name === process.env.FAULT);
const waiting = []; // answers of runs that wait for another run

async function play(input, response, encoder) {
  const last = input.messages?.at(-1)?.content;
  const ids = { thread: input.threadId, run: input.runId };
  for (const event of sequenceOf(last, fault, ids)) {
    if (event === "$wait") {
      await new Promise((go) => waiting.push({ go, response }));
      continue;
    }
    response.write(encoder.encode(event));
    if (fault?.wire === "mixed" && event.type === "TEXT_MESSAGE_CONTENT") response.other?.write(encoder.encode(event));
  }
}

// Runs that wait go on as soon as two of them do, and one alone after a while.
setInterval(() => {
  const now = Date.now();
  waiting.forEach((w) => (w.since ??= now));
  if (waiting.length < 2 && !waiting.some((w) => now - w.since > 1000)) return;
  const [a, b] = waiting.splice(0, 2);
  if (b) a.response.other = b.response;
  a.go(), b?.go();
}, 5);

const server = createServer(async (request, response) => {
  let input = {};
  try {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    input = JSON.parse(Buffer.concat(pieces));
  } catch {}
  if (typeof input.threadId !== "string" || !Array.isArray(input.messages)) {
    if (fault?.wire !== "anything") return response.writeHead(400).end("no run input");
    input = { threadId: "t", runId: "r", ...input, messages: [{ content: "Say hello." }] };
  }
  const encoder = new EventEncoder({ accept: request.headers.accept });
  response.writeHead(200, { "Content-Type": fault?.wire === "text/plain" ? "text/plain" : encoder.getContentType() });
  await play(input, response, encoder);
  if (fault?.wire !== "open") response.end();
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
