import { makeWorkerUtils, type Runner, run } from 'graphile-worker';
import type { Acknowledged, Contender, ContenderInput } from '../contenders/protocol.ts';
import { machineClock } from '../contenders/serve.ts';
import { connectSender, keyOf, text } from './kafka.ts';

const perInsert = 1_000;
const writers = 2;
const task = 'publish';

interface Payload {
  readonly text: string;
  readonly key: string;
}

/**
 * graphile-worker 0.18 at its best: jobs are fetched in batches (`localQueue`) and completed in batches
 * (`completeJobBatchDelay`), as its own page on performance advises, and workers are woken by NOTIFY. A task gets one job, so
 * each job is a send of its own. Jobs are stored by `addJobs`, 1,000 at a time, by two writers.
 *
 * Settings: `concurrency`; `localQueue`, jobs that are fetched at once; `client` and `gather` of `kafka.ts`.
 */
export async function openGraphileWorker(
  input: ContenderInput,
  acknowledged: Acknowledged,
): Promise<Contender> {
  const { databaseUrl, delivers, noting, setting } = input;
  const concurrency = Number(setting['concurrency'] ?? 50);
  const utils = await makeWorkerUtils({ connectionString: databaseUrl });
  if (delivers) {
    await utils.withPgClient((client) => client.query('drop schema if exists graphile_worker cascade'));
    await utils.migrate();
  }
  const sender = await connectSender(input);
  let runner: Runner | undefined;
  return {
    async fill(count, dueAtMs) {
      const runAt = dueAtMs === undefined ? {} : { runAt: new Date(dueAtMs) };
      let begun = 0;
      const writer = async (): Promise<void> => {
        for (let from = begun; from < count; from = begun) {
          begun += perInsert;
          const jobs = Array.from({ length: Math.min(perInsert, count - from) }, (_, index) => ({
            identifier: task,
            payload: { text, key: keyOf(from + index) },
            ...runAt,
          }));
          await utils.addJobs(jobs);
        }
      };
      await Promise.all(Array.from({ length: writers }, writer));
    },
    async start() {
      runner = await run({
        connectionString: databaseUrl,
        noHandleSignals: true,
        concurrency,
        pollInterval: 500,
        maxPoolSize: 10,
        preset: {
          worker: {
            localQueue: { size: Number(setting['localQueue'] ?? 500) },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
        taskList: {
          [task]: async (payload, { job }) => {
            const { key, text: stored } = payload as Payload;
            const body = JSON.stringify({ text: stored });
            await sender.send([{ id: String(job.id), key, body, time: job.created_at.toISOString() }]);
            if (noting) acknowledged([String(job.id)]);
          },
        },
      });
    },
    async sendOne(index) {
      const { id } = await utils.addJob(task, { text, key: keyOf(index) });
      return { id: String(id), committedAtMs: machineClock() };
    },
    async stop() {
      await runner?.stop();
      await utils.release();
      await sender.close();
    },
  };
}
