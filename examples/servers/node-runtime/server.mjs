// The command: `PORT=8123 node server.mjs`, or `node server.mjs 8123`. Port 0 lets the system choose.
import { listen } from './bus.mjs';

const port = Number(process.argv[2] ?? process.env.PORT ?? NaN);
if (!Number.isInteger(port) || port < 0 || port > 65535) {
  console.error('usage: PORT=<port> node server.mjs   or   node server.mjs <port>');
  process.exit(2);
}

const heartbeatMs = Number(process.env.HEARTBEAT_MS ?? 1000);
try {
  const running = await listen(port, { heartbeatMs });
  console.log(`listening on ws://127.0.0.1:${running.port}/v1/bus`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => running.close());
} catch (error) {
  console.error(`listen on 127.0.0.1:${port}: ${error.message}`);
  process.exit(1);
}
