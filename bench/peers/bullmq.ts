import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Acknowledged, Contender, ContenderInput } from '../contenders/protocol.ts';
import { machineClock } from '../contenders/serve.ts';
import { connectSender, keyOf, text } from './kafka.ts';

const perInsert = 1_000;

interface Data {
  readonly text: string;
  readonly key: string;
}

/**
 * BullMQ 6 on Redis with an append-only file that is flushed every second, which is less than a commit of PostgreSQL promises. A
 * worker gets one job, so each job is a send of its own. Jobs are stored by `addBulk`, 1,000 at a time, and removed when they are
 * done.
 *
 * Settings: `concurrency`, of one worker; `client` and `gather` of `kafka.ts`.
 */
export async function openBullmq(input: ContenderInput, acknowledged: Acknowledged): Promise<Contender> {
  const { noting, redisUrl, setting, topic } = input;
  const connect = (): Redis => new Redis(redisUrl, { maxRetriesPerRequest: null });
  const connection = connect();
  const queue = new Queue<Data>(topic, {
    connection,
    defaultJobOptions: { removeOnComplete: true, attempts: 3 },
  });
  await queue.waitUntilReady();
  const sender = await connectSender(input);
  const workerConnection = connect();
  const worker = new Worker<Data>(
    topic,
    async ({ data, id = '', timestamp }) => {
      const body = JSON.stringify({ text: data.text });
      await sender.send([{ id, key: data.key, body, time: new Date(timestamp).toISOString() }]);
      if (noting) acknowledged([id]);
    },
    {
      connection: workerConnection,
      autorun: false,
      concurrency: Number(setting['concurrency'] ?? 200),
    },
  );
  worker.on('error', (error) => {
    process.stderr.write(`${String(error)}\n`);
  });
  let running: Promise<unknown> = Promise.resolve();
  return {
    async fill(count, dueAtMs) {
      for (let from = 0; from < count; from += perInsert) {
        const opts = dueAtMs === undefined ? {} : { opts: { delay: Math.max(0, dueAtMs - Date.now()) } };
        await queue.addBulk(
          Array.from({ length: Math.min(perInsert, count - from) }, (_, index) => ({
            name: 'publish',
            data: { text, key: keyOf(from + index) },
            ...opts,
          })),
        );
      }
    },
    async start() {
      running = worker.run();
      running.catch(() => undefined);
      await worker.waitUntilReady();
    },
    async sendOne(index) {
      const { id = '' } = await queue.add('publish', { text, key: keyOf(index) });
      return { id, committedAtMs: machineClock() };
    },
    async stop() {
      await worker.close();
      await running;
      await queue.obliterate({ force: true });
      await queue.close();
      connection.disconnect();
      workerConnection.disconnect();
      await sender.close();
    },
  };
}
