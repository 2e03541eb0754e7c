import { PgBoss } from 'pg-boss';
import type { Acknowledged, Contender, ContenderInput } from '../contenders/protocol.ts';
import { machineClock } from '../contenders/serve.ts';
import { connectSender, keyOf, text } from './kafka.ts';

const perInsert = 5_000;
const writers = 2;
const deletedEveryMs = 5_000;

interface Data {
  readonly text: string;
  readonly key: string;
}

/**
 * pg-boss 12 at its best: a queue with a table of its own (`partition`), workers that fetch in batches, go on at once while
 * batches are full (`burstWhenBatchFull`), and are woken by NOTIFY (`notify`); where nothing wakes them, they look at its
 * shortest interval, 0.5 s. One send to Kafka for each batch. Jobs are stored by `insert`, 5,000 at a time, by two writers.
 * Its upkeep (`supervise`, `schedule`) is off.
 *
 * Settings: `batch`, jobs that are fetched at once; `workers`; `client` of `kafka.ts`; `deleteAfter`, seconds after which it deletes
 * what is done, every few seconds.
 */
export async function openPgBoss(input: ContenderInput, acknowledged: Acknowledged): Promise<Contender> {
  const { databaseUrl, noting, setting, topic } = input;
  const workers = Number(setting['workers'] ?? 4);
  const boss = new PgBoss({
    connectionString: databaseUrl,
    max: workers + 6,
    schema: 'pgboss',
    supervise: false,
    maintenanceIntervalSeconds: deletedEveryMs / 1_000,
    schedule: false,
    useListenNotify: true,
  });
  boss.on('error', (error) => {
    process.stderr.write(`${String(error)}\n`);
  });
  await boss.start();
  const deleteAfterSeconds = Number(setting['deleteAfter'] ?? 0);
  await boss.createQueue(topic, {
    partition: true,
    notify: true,
    retryLimit: 3,
    ...(deleteAfterSeconds > 0 && { deleteAfterSeconds }),
  });
  const sender = await connectSender(input);
  let deleting: NodeJS.Timeout | undefined;
  let deletion = Promise.resolve();
  return {
    fill: (count, dueAtMs) => fill(boss, topic, count, dueAtMs),
    async start() {
      if (deleteAfterSeconds > 0)
        deleting = setInterval(() => {
          deletion = deletion.then(() => boss.supervise(topic));
        }, deletedEveryMs);
      await boss.work<Data>(
        topic,
        {
          batchSize: Number(setting['batch'] ?? 5_000),
          localConcurrency: workers,
          pollingIntervalSeconds: 0.5,
          notifyPollingIntervalSeconds: 0.5,
          burstWhenBatchFull: true,
        },
        async (jobs) => {
          const time = new Date().toISOString();
          await sender.send(
            jobs.map(({ data, id }) => ({
              id,
              key: data.key,
              body: JSON.stringify({ text: data.text }),
              time,
            })),
          );
          if (noting) acknowledged(jobs.map(({ id }) => id));
        },
      );
    },
    async sendOne(index) {
      const id = await boss.send(topic, { text, key: keyOf(index) });
      if (id === null) throw new Error('pg-boss refused a job.');
      return { id, committedAtMs: machineClock() };
    },
    async stop() {
      clearInterval(deleting);
      await deletion;
      await boss.offWork(topic, { wait: true });
      await boss.deleteQueue(topic);
      await boss.stop({ graceful: true, timeout: 10_000 });
      await sender.close();
    },
  };
}

async function fill(boss: PgBoss, queue: string, count: number, dueAtMs: number | undefined): Promise<void> {
  const startAfter = dueAtMs === undefined ? {} : { startAfter: new Date(dueAtMs) };
  let begun = 0;
  const writer = async (): Promise<void> => {
    for (let from = begun; from < count; from = begun) {
      begun += perInsert;
      const jobs = Array.from({ length: Math.min(perInsert, count - from) }, (_, index) => ({
        data: { text, key: keyOf(from + index) },
        ...startAfter,
      }));
      await boss.insert(queue, jobs);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
}
