import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createClient } from '@redis/client';
import { startRedis } from '../../dev/servers/index.ts';
import { type IncomingBatch, redisStream } from '../../src/transports.ts';
import { aMessage, rateOf, send } from './broker-load.ts';

/*
 * What several members of a group bring on one stream, in one process: messages per second for one and for three, with a
 * handler that only acknowledges and with one that waits 5 ms per message, as for another server. And what a stream costs in
 * memory. `npm run prebuilt && node dist/bench/transports/redis-members.js`
 */

const batchSize = 200;

/** Received by so many members that read together; without members, by one that keeps the order. */
async function rate(url: string, members: number, messages: number, workMs: number): Promise<number> {
  const address = `members-${randomUUID()}`;
  const transport = redisStream({ url, order: members === 0 });
  const batches = Array.from({ length: messages / batchSize }, () =>
    Array.from({ length: batchSize }, () => aMessage()),
  );
  await send(transport, address, batches);
  const all = new AbortController();
  const seen = new Set<string>();
  const handle = async (batch: IncomingBatch): Promise<void> => {
    for (const message of batch.messages) {
      if (workMs > 0) await new Promise((resolve) => setTimeout(resolve, workMs));
      seen.add(message.header('ce_id') ?? '');
      batch.acknowledge(message);
    }
    if (seen.size === messages) all.abort();
  };
  const join = () =>
    transport.source().subscribe({
      addresses: [address],
      group: 'bench',
      concurrency: 1,
      batchSize: workMs > 0 ? 20 : batchSize,
      fromBeginning: true,
      joinWithinMs: 10_000,
      assigned: () => undefined,
      disconnected: (error) => all.abort(error),
      handle,
    });
  const perSecond = await rateOf(messages, async () => {
    const running = await Promise.all(Array.from({ length: Math.max(1, members) }, join));
    if (!all.signal.aborted) await once(all.signal, 'abort');
    await Promise.all(running.map((one) => one.stop()));
  });
  await transport.close();
  return perSecond;
}

const server = await startRedis({ env: process.env });
const redis = createClient({ url: server.url });
await redis.connect();
try {
  for (const [workMs, messages] of [
    [0, 40_000],
    [5, 2_000],
  ] as const)
    for (const members of [0, 1, 3]) {
      await rate(server.url, members, Math.min(messages, 1_000), workMs);
      const rates = [];
      for (let round = 0; round < 3; round += 1)
        rates.push(await rate(server.url, members, messages, workMs));
      const who = members === 0 ? 'one in order' : `${members} together`;
      process.stdout.write(
        `${who}, ${workMs} ms of work: ${rates.toSorted((a, b) => a - b).join(' / ')} per second\n`,
      );
      await redis.flushAll();
    }
  for (const count of [10_000, 100_000]) {
    const transport = redisStream({ url: server.url });
    for (let sent = 0; sent < count; sent += 1_000)
      await send(transport, 'memory', [Array.from({ length: 1_000 }, () => aMessage())]);
    await transport.close();
    const bytes = (await redis.memoryUsage('memory', { SAMPLES: 0 })) ?? 0;
    await redis.xGroupCreate('memory', 'bench', '0');
    await redis.sendCommand([
      'XREADGROUP',
      'GROUP',
      'bench',
      'one',
      'COUNT',
      String(count),
      'STREAMS',
      'memory',
      '>',
    ]);
    const open = ((await redis.memoryUsage('memory', { SAMPLES: 0 })) ?? 0) - bytes;
    process.stdout.write(
      `${count} entries: ${bytes} bytes, ${Math.round(bytes / count)} each; ${Math.round(open / count)} more while open\n`,
    );
    await redis.flushAll();
  }
} finally {
  redis.destroy();
  await server.stop();
}
