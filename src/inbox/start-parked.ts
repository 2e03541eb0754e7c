import { randomBytes } from 'node:crypto';
import { type BulkRunner, createBulkRunner } from '../bulk/bulk-runner.ts';
import type { Running } from '../core/running.ts';
import type { Transaction } from '../store/database/transaction.ts';
import { endDeadTries } from '../store/inbox/parked-keys.ts';
import type { ConsumerReport } from './consumer-event.ts';
import { type InboxTransactions, transactionsOf } from './inbox-transactions.ts';
import { KeyDrain } from './parked/key-drain.ts';
import { ParkedWatcher } from './parked/parked-watcher.ts';
import { topicDelaysOf } from './route-delays.ts';
import type { SharedParts } from './shared-parts.ts';
import type { SourceRoutes } from './source-routes.ts';

/** Makes what tries parked messages, and starts the watcher that starts their workflows. */
export function startParked<Tx extends Transaction>(
  {
    plan: { client, hostParkedKeys, routes: all, rules },
    handlers,
    sourceRoutes,
    installation,
    suspects,
    breaker,
    tally,
    report,
    ask,
  }: SharedParts<Tx>,
  running: Running,
): ParkedWatcher {
  const { group } = rules;
  const failed = (error: unknown): void => report({ type: 'workflows-failing', error });
  const onFailed = (): void => nudgeDeadLetters(sourceRoutes);
  // Identifies this process in the database.
  const worker = randomBytes(8).readBigInt64BE().toString();
  const drains = new KeyDrain({
    client,
    handlers,
    group,
    routes: sourceRoutes.map(({ lookup }) => lookup),
    rules: rules.tries,
    topics: topicDelaysOf(all, rules.tries.retryMs),
    quickRetriesMs: rules.quickRetriesMs,
    limits: client.limits,
    worker,
    suspects,
    breaker,
    tally,
    report,
    receiptsOf: (routes) => sourceRoutes.find(({ lookup }) => lookup === routes)?.receipts,
    onFailed,
  });
  const { parkedConcurrency: concurrency } = rules;
  const bulk = bulkRunnerOf(client, report);
  const hosted = hostParkedKeys({ installation, group, drains, bulk, concurrency, failed });
  running.add(() => hosted.stop());
  const watcher = new ParkedWatcher({
    withSql: ask,
    group,
    workflows: hosted.workflows,
    bulks: hosted.bulks,
    async endDeadTries() {
      const { gaveUp, ...dead } = await ask((sql) => endDeadTries(sql, group, worker, rules.tries));
      for (const id of gaveUp) {
        tally.count('failed');
        report({ type: 'failed', id, reason: 'killed', error: undefined });
        onFailed();
      }
      return dead;
    },
    failed: ({ error }) => failed(error),
  });
  watcher.start();
  running.add(() => watcher.stop());
  return watcher;
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
