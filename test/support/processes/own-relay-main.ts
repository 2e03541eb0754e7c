import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { clientOf, defineConfig, send, topic, transaction } from '../../../src/index.ts';
import { startRelay } from '../../../src/relay.ts';
import { memoryBroker } from '../../../src/testing.ts';
import { LongestTurn, usedMs } from './longest-turn.ts';

// A service with a relay of its own: prints the longest turn of the event loop until the relay is ready, then while it sends,
// delivers and waits for due times, and of one that takes 60 ms.
const { address, url } = JSON.parse(process.argv[2] ?? '') as {
  /** Of Temporal. */
  readonly address: string;
  /** Of the database. */
  readonly url: string;
};

const orders = topic('orders', z.object({ n: z.number() }));
const config = defineConfig({
  database: { url },
  temporal: { address },
  topics: [orders],
  transports: { memory: memoryBroker() },
});
const pool = new pg.Pool({ connectionString: url });
const client = clientOf(pool);
const turn = new LongestTurn();
const relay = startRelay(config, { logger: false });
await relay.ready;
const startingMs = turn.take();

const messages = 300;
for (let n = 0; n < messages; n += 1) {
  await transaction(client, (tx) => send(tx, orders, { n }, n % 3 === 0 ? { after: '2 seconds' } : {}));
  await delay(5);
}
for (let published = 0; published < messages; ) {
  const { rows } = await pool.query<{ published: number }>(
    "select count(*)::int as published from outbox.message_view where state = 'published'",
  );
  published = rows[0]?.published ?? 0;
  await delay(100);
}
const runningMs = turn.take();

// Work without an end of a turn.
const untilMs = usedMs() + 60;
while (usedMs() < untilMs);
const seenMs = turn.take();
turn.end();
await Promise.all([relay.stop(), pool.end()]);
console.log(JSON.stringify({ startingMs, runningMs, seenMs }));
