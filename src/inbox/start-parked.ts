import { randomBytes } from 'node:crypto';
import { type BulkRunner, createBulkRunner } from '../bulk/bulk-runner.ts';
import { rest } from '../core/rest.ts';
import type { Running } from '../core/running.ts';
import { Slots } from '../core/slots.ts';
import type { Transaction } from '../store/database/transaction.ts';
import { type DeadTries, endDeadTries } from '../store/inbox/parked-keys.ts';
import type { ConsumerReport } from './consumer-event.ts';
import { type InboxTransactions, transactionsOf } from './inbox-transactions.ts';
import { KeyDrain } from './parked/key-drain.ts';
import { ParkedWatcher } from './parked/parked-watcher.ts';
import { KeyStandIns } from './parked/stand-ins.ts';
import { TemporalOutage } from './parked/temporal-outage.ts';
import { topicDelaysOf } from './route-delays.ts';
import type { SharedParts } from './shared-parts.ts';
import type { SourceRoutes } from './source-routes.ts';

/** Makes what tries parked messages, and starts the watcher that starts their workflows and stand-ins. */
export function startParked<Tx extends Transaction>(
  shared: SharedParts<Tx>,
  running: Running,
): ParkedWatcher {
  const {
    plan: { client, hostParkedKeys, rules },
    installation,
    report,
    ask,
  } = shared;
  const { group, parkedConcurrency: concurrency } = rules;
  // Identifies this process in the database.
  const worker = randomBytes(8).readBigInt64BE().toString();
  const onFailed = (): void => nudgeDeadLetters(shared.sourceRoutes);
  const slots = new Slots(concurrency);
  const standIns = new KeyStandIns({
    drains: keyDrainOf(shared, worker, onFailed),
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
    endDeadTries: () => buryDead(shared, worker, onFailed),
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
  // At the same time: a drain that is not told to end begins the try anew that the time of a stop has ended.
  running.add(async () => {
    await Promise.all([watcher.stop(), standIns.stop(), hosted.stop()]);
  });
  return watcher;
}

/** How long Temporal's packages, which keep a process busy while they load, are held back for the first message. */
const firstMessageMs = 2_000;
const mostMs = 10_000;
const lookEveryMs = 50;

/** Resolves once the consumer has joined and ended its first message, or has none. */
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

function keyDrainOf<Tx extends Transaction>(
  { plan, handlers, sourceRoutes, suspects, breaker, tally, report }: SharedParts<Tx>,
  worker: string,
  onFailed: () => void,
): KeyDrain<Tx> {
  const { client, routes, rules } = plan;
  return new KeyDrain({
    client,
    handlers,
    group: rules.group,
    routes: sourceRoutes.map(({ lookup }) => lookup),
    rules: rules.tries,
    topics: topicDelaysOf(routes, rules.tries.retryMs),
    quickRetriesMs: rules.quickRetriesMs,
    limits: client.limits,
    worker,
    suspects,
    breaker,
    tally,
    report,
    receiptsOf: (some) => sourceRoutes.find(({ lookup }) => lookup === some)?.receipts,
    onFailed,
  });
}

async function buryDead<Tx extends Transaction>(
  { plan: { rules }, ask, report, tally }: SharedParts<Tx>,
  worker: string,
  onFailed: () => void,
): Promise<Omit<DeadTries, 'gaveUp'>> {
  const { gaveUp, ...dead } = await ask((sql) => endDeadTries(sql, rules.group, worker, rules.tries));
  for (const id of gaveUp) {
    tally.count('failed');
    report({ type: 'failed', id, reason: 'killed', error: undefined });
    onFailed();
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

function nudgeDeadLetters<Tx>(sourceRoutes: readonly SourceRoutes<Tx>[]): void {
  for (const { deadLetters } of sourceRoutes) deadLetters?.nudge();
}
