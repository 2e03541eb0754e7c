import { randomBytes } from 'node:crypto';
import { type BulkRunner, createBulkRunner } from '../bulk/bulk-runner.ts';
import { rest } from '../core/rest.ts';
import type { Running } from '../core/running.ts';
import { Slots } from '../core/slots.ts';
import type { Transaction } from '../store/database/transaction.ts';
import { type DeadTries, endDeadTries } from '../store/inbox/parked-keys.ts';
import type { ConsumerContext } from './consumer-context.ts';
import type { ConsumerReport } from './consumer-event.ts';
import type { ConsumerParts } from './consumer-plan.ts';
import { type InboxTransactions, transactionsOf } from './inbox-transactions.ts';
import { KeyDrain } from './parked/key-drain.ts';
import { ParkedWatcher } from './parked/parked-watcher.ts';
import { KeyStandIns } from './parked/stand-ins.ts';
import { TemporalOutage } from './parked/temporal-outage.ts';
import { nudgeDeadLetters } from './source-routes.ts';

/** The supervisor of parked keys, and the UUID of their database. */
interface Host<Tx extends Transaction> extends Pick<ConsumerParts<Tx>, 'hostParkedKeys'> {
  readonly installation: string;
}

/** Makes the parts that try parked messages, and starts the watcher that starts their workflows and stand-ins. */
export function startParked<Tx extends Transaction>(
  context: ConsumerContext<Tx>,
  { hostParkedKeys, installation }: Host<Tx>,
  running: Running,
): ParkedWatcher {
  const { ask, client, report, rules } = context;
  const { group, parkedConcurrency: concurrency } = rules;
  // Identifies this process in the database.
  const worker = randomBytes(8).readBigInt64BE().toString();
  const slots = new Slots(concurrency);
  const standIns = new KeyStandIns({
    drains: new KeyDrain(context, worker),
    slots,
    failed: (error, retryInMs) => report({ type: 'parked-failing', error, retryInMs }),
    drained: () => watcher.drained(),
  });
  const outage = new TemporalOutage(report);
  const hosted = hostParkedKeys({
    installation,
    group,
    drains: standIns,
    bulk: bulkRunnerOf(client, report),
    concurrency,
    failed: (error) => outage.failed(error),
  });
  const watcher = new ParkedWatcher({
    withSql: ask,
    group,
    workflows: hosted.workflows,
    bulks: hosted.bulks,
    standIns,
    supervised: untilAtWork(running),
    endDeadTries: () => buryDead(context, worker),
    failed: ({ what, error, retryInMs }) => {
      if (what === 'start') outage.failed(error);
      else report({ type: 'parked-failing', error, retryInMs });
    },
    away: () => outage.told,
    answered: () => {
      if (hosted.workflows.hosting()) outage.answered();
    },
  });
  watcher.start();
  // At the same time: a drain that does not know of the stop would repeat the try that its deadline has ended.
  running.add(async () => {
    await Promise.all([watcher.stop(), standIns.stop(), hosted.stop()]);
  });
  return watcher;
}

/** How long the load of Temporal's packages, which keeps a process busy, is held back for the first message. */
const firstMessageMs = 2_000;
const mostMs = 10_000;
const lookEveryMs = 50;

/** Resolves once the consumer has joined, and has finished its first message or has none. */
async function untilAtWork({ health, stopping }: Running): Promise<void> {
  const startedAt = performance.now();
  let joinedAt: number | undefined;
  while (!stopping.aborted && performance.now() - startedAt < mostMs) {
    if (health.joined()) joinedAt ??= performance.now();
    const { lastProgressAt } = health.read();
    if (lastProgressAt !== null) return;
    if (joinedAt !== undefined && performance.now() - joinedAt >= firstMessageMs) return;
    await rest(lookEveryMs, stopping, { ref: false });
  }
}

async function buryDead<Tx extends Transaction>(
  { ask, report, rules, sourceRoutes, tally }: ConsumerContext<Tx>,
  worker: string,
): Promise<Omit<DeadTries, 'gaveUp'>> {
  const { gaveUp, ...dead } = await ask((sql) => endDeadTries(sql, rules.group, worker, rules.tries));
  for (const id of gaveUp) {
    tally.count('failed', undefined);
    report({ type: 'failed', id, reason: 'killed', error: undefined });
    nudgeDeadLetters(sourceRoutes);
  }
  return dead;
}

function bulkRunnerOf<Tx extends Transaction>(
  client: InboxTransactions<Tx>,
  report: ConsumerReport,
): BulkRunner {
  return createBulkRunner({
    database: transactionsOf(client),
    ended: (id, counts) => report({ type: 'bulk-ended', id, counts }),
    failed: (error) => report({ type: 'bulk-failing', error }),
  });
}
