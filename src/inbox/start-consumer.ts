import type { Subscribed } from '../brokers/source.ts';
import type { Running } from '../core/running.ts';
import { unlessStopped } from '../core/unless-stopped.ts';
import type { Sql } from '../store/database/database.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { countKept } from '../store/inbox/kept-counts.ts';
import { readInstallation } from '../store/installation/installation.ts';
import { requireMigrated } from '../store/installation/migrate.ts';
import { openMeter } from '../telemetry/meter.ts';
import type { ConsumerContext } from './consumer-context.ts';
import { Tally } from './consumer-counts.ts';
import { type ConsumerReport, undisturbed } from './consumer-event.ts';
import { noting, standing } from './consumer-health.ts';
import type { ConsumerStatus, RunningConsumer } from './consumer-interface.ts';
import type { ConsumerPlan } from './consumer-plan.ts';
import { ConsumerPresence } from './consumer-presence.ts';
import { Breaker } from './handling/breaker.ts';
import { BreakerRows } from './handling/breaker-rows.ts';
import { HandlerTransactions } from './handling/handler-transactions.ts';
import { HandlingMetrics } from './handling/handling-metrics.ts';
import { OneSuspect } from './handling/one-suspect.ts';
import { InboxTransactions, limitOf, poolSizeOf } from './inbox-transactions.ts';
import type { FailingPartition } from './intake/failing-partitions.ts';
import { MessageIntake } from './intake/message-intake.ts';
import type { ParkedWatcher } from './parked/parked-watcher.ts';
import { addressesOf, type SourceRoutes, sourceRoutesOf } from './source-routes.ts';
import { startParked } from './start-parked.ts';
import type { TransactionClient } from './transaction-client.ts';
import { filterOfEpoch } from './window/filter-epoch.ts';
import { startWindow } from './window/start-window.ts';

/** The plan, with the client as the inbox uses it. */
interface StartPlan<Tx extends Transaction> extends ConsumerPlan<Tx> {
  readonly client: InboxTransactions<Tx>;
}

/** Messages that are fetched together, each with a transaction of its own. */
const lookAhead = 200;

/** Puts a consumer together and lets it join its group. */
export async function startConsumer<Tx extends Transaction>(
  plan: ConsumerPlan<Tx>,
  running: Running,
): Promise<RunningConsumer> {
  const { health, stopping } = running;
  try {
    const started = await unlessStopped(open(plan, running), stopping);
    if (!stopping.aborted) health.state = 'running';
    return started;
  } catch (error) {
    const wanted = stopping.aborted;
    await running.end().catch(() => undefined);
    throw wanted ? stopping.reason : error;
  }
}

/** Waits for the database: the other parts wait for their servers themselves. */
async function open<Tx extends Transaction>(
  plan: ConsumerPlan<Tx>,
  running: Running,
): Promise<RunningConsumer> {
  const { health, stopping } = running;
  const { client: given, rules, settings } = plan;
  const report = noting(health, undisturbed(settings.report));
  const patient = plan.whenReached?.(given, report, stopping) ?? given;
  const client = new InboxTransactions(given, rules.transactionTimeoutMs ?? limitOf(given));
  warnOfSmallPool(plan);
  await client.learnLevel(patient);
  health.mended('PostgreSQL');
  return start({ ...plan, client }, patient, running, report);
}

/** Connections of the watcher, the window keeper and the marks. */
const ownConnections = 3;

function warnOfSmallPool<Tx extends Transaction>(plan: ConsumerPlan<Tx>): void {
  const { client, rules, settings } = plan;
  const { concurrency, keyConcurrency, parkedConcurrency } = rules;
  const connections = poolSizeOf(client);
  const needed = concurrency * keyConcurrency + parkedConcurrency + ownConnections;
  if (connections !== undefined && connections < needed)
    undisturbed(settings.report)({ type: 'pool-small', connections, needed });
}

async function start<Tx extends Transaction>(
  plan: StartPlan<Tx>,
  patient: TransactionClient<Tx>,
  running: Running,
  report: ConsumerReport,
): Promise<RunningConsumer> {
  const { context, installation } = await contextOf(plan, patient, running, report);
  const { breaker, tally } = context;
  const { hostParkedKeys } = plan;
  const parked = startParked(context, { hostParkedKeys, installation }, running);
  const presence = presenceOf(plan, running);
  const sources = await joinAll(context, { parked, presence }, running);
  const failing = () => sources.failing();
  return {
    counts: () => tally.counts(),
    failing,
    paused: () => breaker.paused(),
    health: () => running.health.read(),
    done: running.over,
    stop: (options) => running.stop(options),
    status: async () => ({ ...(await statusOf(context, sources.subscribed)), failing: failing() }),
  };
}

/** Makes what the parts share, and checks that the database and the window allow a start. */
async function contextOf<Tx extends Transaction>(
  plan: StartPlan<Tx>,
  patient: TransactionClient<Tx>,
  running: Running,
  report: ConsumerReport,
): Promise<{ readonly context: ConsumerContext<Tx>; readonly installation: string }> {
  const { client, middlewares, rules, settings } = plan;
  const { deadline, health, stopping } = running;
  const ask = <Result>(question: (sql: Sql) => Promise<Result>): Promise<Result> =>
    health.during(
      'PostgreSQL',
      client.$transaction((tx) => question(sqlOf(tx))),
    );
  const atStart = <Result>(question: (sql: Sql) => Promise<Result>): Promise<Result> =>
    patient.$transaction((tx) => question(sqlOf(tx)));
  const tally = new Tally(
    plan.routes.map(({ topic }) => topic.name),
    () => health.progressed(),
  );
  const breaker = breakerOf(plan, report, running);
  const sourceRoutes = sourceRoutesOf(plan, report);
  // Added first, and so stopped last: tries that end during the stop still send receipts.
  for (const { deadLetters, receipts } of sourceRoutes) {
    running.add(async () => receipts?.close());
    running.add(async () => deadLetters?.stop());
  }
  const installation = await atStart(async (sql) => {
    await requireMigrated(sql);
    return readInstallation(sql);
  });
  // Asked at the stop, so that health knows whether it is worth waiting for the database.
  stopping.addEventListener('abort', () => void ask(readInstallation).catch(() => undefined), { once: true });
  const filter = settings.filter && (await filterOfEpoch(settings.filter, atStart));
  // Before the intakes, and so closed after them: a stop adds the messages in hand.
  if (filter !== undefined) running.add(() => filter.close());
  const keeper = await startWindow(plan, sourceRoutes, report, running);
  running.add(() => keeper.stop());
  await keeper.start();
  stopping.throwIfAborted();
  const metrics = await metricsOf(rules.group, sourceRoutes, tally);
  running.add(async () => metrics?.stop());
  const handlers = new HandlerTransactions({ client, group: rules.group, metrics, middlewares, deadline });
  running.inHand(() => handlers.open > 0);
  const context = {
    client,
    rules,
    sourceRoutes,
    filter,
    suspects: new OneSuspect(),
    tally,
    metrics,
    breaker,
    handlers,
    report,
    heard: settings.report !== undefined,
    ask,
  };
  return { context, installation };
}

/** `undefined` if the process exports no metrics. */
async function metricsOf<Tx>(
  group: string,
  sourceRoutes: readonly SourceRoutes<Tx>[],
  tally: Tally,
): Promise<HandlingMetrics | undefined> {
  const meter = await openMeter();
  const systems = new Map(
    sourceRoutes.flatMap(({ routes, source }) => routes.map(({ topic }) => [topic.name, source.name])),
  );
  const systemOf = (topic: string): string => systems.get(topic) ?? 'unknown';
  return meter && new HandlingMetrics({ meter, group, tally, systemOf });
}

/** The sources of a consumer. */
interface Joined {
  readonly subscribed: readonly Subscribed[];
  failing(): readonly FailingPartition[];
}

/** Joins the group at each source, one after the other. */
async function joinAll<Tx extends Transaction>(
  context: ConsumerContext<Tx>,
  { parked, presence }: { readonly parked: ParkedWatcher; readonly presence: ConsumerPresence },
  running: Running,
): Promise<Joined> {
  const { breaker, sourceRoutes } = context;
  const { health, stopping } = running;
  const intakes: MessageIntake<Tx>[] = [];
  const subscribed: Subscribed[] = [];
  const members = new Set<string>();
  const failing = () => intakes.flatMap((intake) => intake.failing());
  health.others = () => standing(failing(), breaker.paused());
  health.joined = () => members.size === sourceRoutes.length;
  for (const ofSource of sourceRoutes) {
    const intake = new MessageIntake(context, {
      lookup: ofSource.lookup,
      receipts: ofSource.receipts,
      onParked: () => parked.nudge(),
      onFailed: () => ofSource.deadLetters?.nudge(),
    });
    running.add(() => intake.close());
    intakes.push(intake);
    const subscription = await subscribe(context, ofSource, intake, running, { members, presence });
    running.add(() => subscription.stop());
    subscribed.push(subscription);
    stopping.throwIfAborted();
  }
  return { subscribed, failing };
}

/** The breaker; its pauses are also stored in the database, for `status` of other processes. */
function breakerOf<Tx extends Transaction>(
  { client, processInfo, rules }: StartPlan<Tx>,
  report: ConsumerReport,
  running: Running,
): Breaker {
  const rows = new BreakerRows({ client, processInfo, group: rules.group, paused: () => breaker.paused() });
  const breaker = new Breaker(rules.breaker, (event) => {
    report(event);
    rows.nudge();
  });
  running.add(() => rows.stop());
  return breaker;
}

/** What this consumer is and has, for `status` of other processes. */
function presenceOf<Tx extends Transaction>(
  { client, processInfo, rules }: StartPlan<Tx>,
  running: Running,
): ConsumerPresence {
  const presence = new ConsumerPresence({ client, processInfo, group: rules.group });
  running.add(() => presence.stop());
  presence.start();
  return presence;
}

async function statusOf<Tx extends Transaction>(
  { ask, breaker, rules, tally }: ConsumerContext<Tx>,
  subscribed: readonly Subscribed[],
): Promise<Omit<ConsumerStatus, 'failing'>> {
  const kept = await ask((sql) => countKept(sql, rules.group));
  const lags = await Promise.all(subscribed.map((one) => one.lag())).catch(() => undefined);
  const partitions = lags?.flat() ?? [];
  const lag = lags === undefined ? null : partitions.reduce((sum, { messages }) => sum + messages, 0);
  const { inFlight } = tally;
  return { ...tally.counts(), ...kept, inFlight, lag, partitions, paused: breaker.paused() };
}

function subscribe<Tx extends Transaction>(
  { report, rules }: ConsumerContext<Tx>,
  { name, routes, source }: SourceRoutes<Tx>,
  intake: MessageIntake<Tx>,
  { health, stopping }: Running,
  { members, presence }: { readonly members: Set<string>; readonly presence: ConsumerPresence },
): Promise<Subscribed> {
  let awaySince: Date | undefined;
  return source.subscribe({
    addresses: addressesOf(routes),
    group: rules.group,
    concurrency: rules.concurrency,
    fromBeginning: rules.fromBeginning,
    joinWithinMs: rules.startTimeoutMs,
    signal: stopping,
    batchSize: rules.batchSize ?? lookAhead,
    handle: (batch) => intake.handle(batch),
    assigned: (partitions) => {
      members.add(name);
      health.mended(name);
      presence.owns(name, partitions);
      if (awaySince !== undefined) report({ type: 'connection-resumed', server: name, since: awaySince });
      awaySince = undefined;
      intake.assigned(partitions);
    },
    disconnected: (error, retryInMs) => {
      members.delete(name);
      presence.owns(name, []);
      health.failed(name, error, { away: true });
      awaySince ??= new Date();
      report({ type: 'disconnected', server: name, error, retryInMs });
    },
    incomplete: (error) => {
      if (error === undefined) health.mended(`topics of ${name}`);
      else health.failed(`topics of ${name}`, error);
    },
    asked: (server, answer) => void health.during(`${name} ${server}`, answer).catch(() => undefined),
    noticed: report,
  });
}
