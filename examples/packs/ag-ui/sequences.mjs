// What sequences.json says: what an agent plays, and how faults break it.
import { readFileSync } from "node:fs";
import jsonpatch from "fast-json-patch";

const file = JSON.parse(readFileSync(new URL("sequences.json", import.meta.url)));
export const faults = file.faults;
export const plays = Object.keys(file.plays);

// sequenceOf returns the events of a play for a run, broken by a fault if that is one of this play.
export function sequenceOf(play, fault, { thread, run }) {
  let events = structuredClone(file.plays[play] ?? file.plays["Say hello."]);
  if (fault?.play === play) events = jsonpatch.applyPatch(events, fault.patch).newDocument;
  return JSON.parse(JSON.stringify(events).replaceAll("$thread", thread).replaceAll("$run", run));
}
