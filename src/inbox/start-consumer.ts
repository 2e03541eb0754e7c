import { randomBytes } from 'node:crypto';
import { type BulkRunner, createBulkRunner } from '../bulk/bulk-runner.ts';
import type { Subscribed } from '../sources/source.ts';
import type { Sql } from '../store/database/database.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { countKept } from '../store/inbox/kept-counts.ts';
import { endDeadTries } from '../store/inbox/parked-keys.ts';
import { readInstallation } from '../store/installation/installation.ts';
import { requireMigrated } from '../store/installation/migrate.ts';
import { Tally } from './consumer-counts.ts';
import { type ConsumerReport, undisturbed } from './consumer-event.ts';
import type { ConsumerStatus, RunningConsumer } from './consumer-interface.ts';
import type { ConsumerPlan } from './consumer-plan.ts';
import { InboxTransactions, poolSizeOf, transactionsOf } from './inbox-transactions.ts';
import { Applier } from './intake/applier.ts';
import { Breaker } from './intake/breaker.ts';
import { BreakerRows } from './intake/breaker-rows.ts';
import { HandlerTransactions } from './intake/handler-transactions.ts';
import { KnownMessages } from './intake/known-messages.ts';
import { MessageIntake } from './intake/message-intake.ts';
import { OneSuspect } from './intake/one-suspect.ts';
import { PoisonMarks } from './intake/poison-marks.ts';
import { KeyDrain } from './parked/key-drain.ts';
import { KeyQueues } from './parked/key-queues.ts';
import { ParkedWatcher } from './parked/parked-watcher.ts';
import { topicDelaysOf } from './route-delays.ts';
import { Running } from './running.ts';
import { addressesOf, type SourceRoutes, sourceRoutesOf } from './source-routes.ts';
import { filterOfEpoch } from './window/filter-epoch.ts';
import type { SeenFilter } from './window/seen-filter.ts';
import { startWindow } from './window/start-window.ts';

/** Messages that are looked at together, each with a transaction of its own. */
const lookAhead = 200;

/** With the client as the inbox uses it. */
interface StartPlan<Tx extends Transaction> extends ConsumerPlan<Tx> {
  readonly client: InboxTransactions<Tx>;
}

/** What the parts of a starting consumer share. */
interface Common<Tx extends Transaction> {
  readonly plan: StartPlan<Tx>;
  readonly sourceRoutes: readonly SourceRoutes<Tx>[];
  /** UUID of the database. */
  readonly installation: string;
  /** In the epoch of the database. */
  readonly filter: SeenFilter | undefined;
  readonly suspects: OneSuspect;
  readonly tally: Tally;
  readonly breaker: Breaker;
  readonly handlers: HandlerTransactions<Tx>;
  readonly report: ConsumerReport;
  readonly ask: <Result>(question: (sql: Sql) => Promise<Result>) => Promise<Result>;
}

/** Puts a consumer together and lets it join its group. */
export async function startConsumer<Tx extends Transaction>(
  plan: ConsumerPlan<Tx>,
): Promise<RunningConsumer> {
  const running = new Running();
  try {
    const client = new InboxTransactions(plan.client, plan.rules.transactionTimeoutMs, plan.given);
    warnOfSmallPool(plan);
    await client.learnLevel();
    return await start({ ...plan, client }, running);
  } catch (error) {
    await running.end().catch(() => undefined);
    throw error;
  }
}

/** For the watcher, the keeper of the window, and marks. */
const ownConnections = 3;

function warnOfSmallPool<Tx extends Transaction>(plan: ConsumerPlan<Tx>): void {
  const { client, given = client, rules, settings } = plan;
  const { concurrency, keyConcurrency, parkedConcurrency } = rules;
  const connections = poolSizeOf(given);
  const needed = concurrency * keyConcurrency + parkedConcurrency + ownConnections;
  if (connections !== undefined && connections < needed)
    undisturbed(settings.report)({ type: 'pool-small', connections, needed });
}

async function start<Tx extends Transaction>(
  plan: StartPlan<Tx>,
  running: Running,
): Promise<RunningConsumer> {
  const { client, middlewares, rules, settings } = plan;
  const ask = <Result>(question: (sql: Sql) => Promise<Result>): Promise<Result> =>
    client.$transaction((tx) => question(sqlOf(tx)));
  const report = undisturbed(settings.report);
  const tally = new Tally();
  const breaker = breakerOf(plan, report, running);
  const sourceRoutes = sourceRoutesOf(plan, report);
  // First, because they end last: tries that end with the consumer have receipts, too.
  for (const { deadLetters, receipts } of sourceRoutes) {
    running.add(async () => receipts?.close());
    running.add(async () => deadLetters?.stop());
  }
  const installation = await ask(async (sql) => {
    await requireMigrated(sql);
    return readInstallation(sql);
  });
  const filter = settings.filter && (await filterOfEpoch(settings.filter, ask));
  const keeper = await startWindow(plan, sourceRoutes, report);
  running.add(() => keeper.stop());
  await keeper.start();
  const { deadline } = running;
  const handlers = new HandlerTransactions({ client, group: rules.group, middlewares, deadline });
  const suspects = new OneSuspect();
  const common = {
    plan,
    sourceRoutes,
    installation,
    filter,
    suspects,
    breaker,
    handlers,
    tally,
    report,
    ask,
  };
  const parked = startParked(common, running);
  const intakes: MessageIntake<Tx>[] = [];
  const subscribed: Subscribed[] = [];
  for (const ofSource of sourceRoutes) {
    const intake = intakeOf(common, ofSource, () => parked.nudge());
    running.add(() => intake.close());
    intakes.push(intake);
    const subscription = await subscribe(common, ofSource, intake);
    running.add(() => subscription.stop());
    subscribed.push(subscription);
  }
  if (filter !== undefined) running.add(() => filter.close());
  const failing = () => intakes.flatMap((intake) => intake.failing());
  return {
    counts: () => tally.counts(),
    failing,
    paused: () => breaker.paused(),
    stop: (options) => running.stop(options),
    status: async () => ({ ...(await statusOf(common, subscribed)), failing: failing() }),
  };
}

/** What it pauses is told to all who look at the database, too. */
function breakerOf<Tx extends Transaction>(
  { client, place, rules }: StartPlan<Tx>,
  report: ConsumerReport,
  running: Running,
): Breaker {
  const rows = new BreakerRows({ client, place, group: rules.group, paused: () => breaker.paused() });
  const breaker = new Breaker(rules.breaker, (event) => {
    report(event);
    rows.nudge();
  });
  running.add(() => rows.stop());
  return breaker;
}

async function statusOf<Tx extends Transaction>(
  { plan: { rules }, ask, breaker, tally }: Common<Tx>,
  subscribed: readonly Subscribed[],
): Promise<Omit<ConsumerStatus, 'failing'>> {
  const kept = await ask((sql) => countKept(sql, rules.group));
  const lags = await Promise.all(subscribed.map((one) => one.lag())).catch(() => undefined);
  const partitions = lags?.flat() ?? [];
  const lag = lags === undefined ? null : partitions.reduce((sum, { messages }) => sum + messages, 0);
  const { inFlight } = tally;
  return { ...tally.counts(), ...kept, inFlight, lag, partitions, paused: breaker.paused() };
}

function intakeOf<Tx extends Transaction>(
  { plan: { client, rules }, ask, breaker, filter, handlers, report, suspects, tally }: Common<Tx>,
  { deadLetters, lookup, receipts }: SourceRoutes<Tx>,
  onParked: () => void,
): MessageIntake<Tx> {
  const { group } = rules;
  return new MessageIntake({
    ...rules,
    routes: lookup,
    applier: new Applier({ client, handlers, group, limits: client.limits, rules: rules.tries }),
    known: new KnownMessages({ client, group, filter }),
    marks: new PoisonMarks({
      client,
      group,
      maxKills: rules.tries.maxKills,
      inOrder: rules.keyConcurrency === 1,
      suspects,
    }),
    queues: new KeyQueues({ group, most: rules.maxQueued, report, ask }),
    breaker,
    tally,
    report,
    receipts,
    onParked,
    onFailed: () => deadLetters?.nudge(),
  });
}

function subscribe<Tx extends Transaction>(
  { plan: { rules }, report }: Common<Tx>,
  { routes, source }: SourceRoutes<Tx>,
  intake: MessageIntake<Tx>,
): Promise<Subscribed> {
  return source.subscribe({
    addresses: addressesOf(routes),
    group: rules.group,
    concurrency: rules.concurrency,
    fromBeginning: rules.fromBeginning,
    joinWithinMs: rules.startWithinMs,
    batchSize: rules.batchSize ?? lookAhead,
    handle: (batch) => intake.handle(batch),
    assigned: (partitions) => intake.assigned(partitions),
    disconnected: (error, retryInMs) => report({ type: 'disconnected', error, retryInMs }),
    noticed: report,
  });
}

/** Tries of parked messages, and whoever starts their workflows. */
function startParked<Tx extends Transaction>(
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
  }: Common<Tx>,
  running: Running,
): ParkedWatcher {
  const { group } = rules;
  const failed = (error: unknown): void => report({ type: 'workflows-failing', error });
  const onFailed = (): void => nudgeDeadLetters(sourceRoutes);
  // What tells this process from others in the database.
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
        tally.failed += 1;
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
