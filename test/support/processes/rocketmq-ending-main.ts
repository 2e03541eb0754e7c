import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { rocketmq } from '../../../src/transports.ts';
import type { RocketmqEndingSettings } from './rocketmq-ending-process.ts';

// Sends and receives one message, ends both when asked, and must then exit by itself; `rocketmq-ending-process.ts`
// starts it.
const { address, servers, group } = JSON.parse(process.argv[2] ?? '') as RocketmqEndingSettings;

const transport = rocketmq({ servers, requestTimeout: '2s' });
const messages = [{ id: 'm-1', key: 'a', payload: '{}', headers: { ce_id: 'm-1' } }];
const batch = { address, partitions: 1, messages, signal: new AbortController().signal };
while ((await transport.publish(batch)).hold !== undefined) await delay(100);
const subscribed = await transport.source().subscribe({
  addresses: [address],
  group,
  concurrency: 1,
  batchSize: 10,
  fromBeginning: true,
  joinWithinMs: 30_000,
  assigned: () => undefined,
  disconnected: () => undefined,
  async handle(received) {
    for (const message of received.messages) received.acknowledge(message);
    process.stdout.write('received\n');
  },
});
await once(process.stdin, 'data');
process.stdin.destroy();
await transport.publish(batch);
await subscribed.stop();
await transport.close();
// Idle time: on a busy machine a process may end late although nothing is left to do.
const closed = performance.eventLoopUtilization();
process.once('exit', () => {
  writeSync(1, `waited ${Math.round(performance.eventLoopUtilization(closed).idle)} ms\n`);
});
