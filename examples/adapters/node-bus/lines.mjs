// What both adapters share: frames as lines on stdin and stdout, and the fence.
import readline from 'node:readline';
import { parse, stringify } from '../../servers/node-runtime/json.mjs'; // JSON that keeps every digit of a payload

/** Writes a frame. Nothing else may go to stdout. */
export const write = (frame) => process.stdout.write(stringify(frame) + '\n');

/**
 * Yields to pending work, until it has done whatever follows from the lines so far. What waits for time, or for another
 * process, is not waited for.
 */
async function settle() {
  for (let i = 0; i < 100; i++) await new Promise(setImmediate);
}

/** Handles each line before the next, until stdin ends. */
export async function serve(setUp, deliver) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      const frame = parse(line);
      if (frame.parley === 'setup') {
        setUp(JSON.parse(line)); // limits are plain numbers
        write({ parley: 'ready', session_id: frame.session_id });
      } else if (frame.parley === 'fence') {
        await settle();
        write({ parley: 'fenced', id: frame.id });
      } else {
        await deliver(frame);
      }
    } catch (error) { // one bad line must not end the others' sessions
      console.error(`adapter: line ${line}:`, error);
    }
  }
  process.exit(); // timers would keep the process alive
}
