import type { LogReader } from '../../core/delivery-log.ts';
import type { Duration } from '../../core/duration.ts';
import type { Database, Sql } from '../../store/database/database.ts';
import { trustRoleLocally } from '../../store/database/own-names.ts';
import { readInstallationId } from '../../store/installation/installation.ts';
import { requireMigrated } from '../../store/installation/migrate.ts';
import { readTopicPolicies } from '../../store/lane/topic-policies.ts';
import { verifyAudit } from '../../store/verify/audit.ts';
import { verifyDuplicates } from '../../store/verify/duplicates.ts';
import { verifyEarly } from '../../store/verify/early.ts';
import { type CountedEffects, type EffectsQuery, verifyEffects } from '../../store/verify/effects.ts';
import { verifyCanceled, verifyGhosts } from '../../store/verify/ghosts.ts';
import { addRecords, beginVerification, endRecords, type LoggedTopic } from '../../store/verify/log.ts';
import { verifyLoss } from '../../store/verify/loss.ts';
import { verifyOrder } from '../../store/verify/order.ts';
import { type GroupPlace, knownIds, verifyPassed } from '../../store/verify/passed.ts';
import { verifyStates } from '../../store/verify/states.ts';
import { verifyStructure } from '../../store/verify/structure.ts';
import { durationOf } from '../operation-options.ts';
import { type InvariantResult, resultOf, type VerifyReport } from './report.ts';
import { type CompareSchedules, verifySchedules } from './schedules.ts';

/** The log of one broker, and its topics. */
export interface VerifiedLog {
  readonly reader: LogReader;
  readonly topics: readonly LoggedTopic[];
  /** By partition, the first offset that a group has not committed. Absent: the broker keeps none. */
  readonly committed?: ((group: string, address: string) => Promise<ReadonlyMap<number, string>>) | undefined;
}

/** The period and the tolerances of a verification. */
export interface VerifyBounds {
  /** Checks messages created and records written since then. @defaultValue all that the database and the broker keep */
  readonly since?: Date | undefined;
  /** How long a message may be due before it counts as late. @defaultValue `'60s'` */
  readonly grace?: Duration | undefined;
  /** How far the clock in the log may differ from that of the database. @defaultValue `'5s'` */
  readonly tolerance?: Duration | undefined;
  /**
   * The longest time that a sending transaction stays open: the order of sends that are further apart is certain.
   * @defaultValue `'60s'`
   */
  readonly maxTransaction?: Duration | undefined;
  /** Share of duplicates, 0 to 1, above which they are a violation. @defaultValue never a violation */
  readonly maxDuplicates?: number | undefined;
}

/** Options of a verification, with effects in a database that is already open. */
export interface VerificationOptions extends VerifyBounds {
  /** How to count effects. @defaultValue effects are not checked */
  readonly effects?: EffectsQuery | undefined;
  /** @defaultValue schedules are not compared */
  readonly schedules?: CompareSchedules | undefined;
}

/** How far before `since` records are read, because the clocks of log and database differ. */
const marginMs = 5 * 60_000;

/**
 * Compares committed messages with the logs of the brokers, and reports broken promises.
 *
 * Only reads, but needs a writable database, for temporary tables: the log is compared there, so memory stays bounded. One
 * transaction stays open meanwhile; on a busy database, shorten it with `since`.
 *
 * What was published when it begins must be in the log; what is in the log must have a row when it ends. So it may run
 * while messages are sent and delivered.
 *
 * @param inbox the database with the processed ids; often the same
 * @throws OutboxError `OUTBOX_MIGRATION_MISSING`, `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_OPTION_INVALID`
 */
export async function verify(
  database: Database,
  logs: readonly VerifiedLog[],
  options: VerificationOptions = {},
  inbox: Database = database,
): Promise<VerifyReport> {
  await requireMigrated(database);
  const { effects, schedules, since = null } = options;
  const rows = await database.transaction((sql) =>
    verifyRows(sql, logs, options, inbox === database ? sql : inbox),
  );
  const once =
    effects?.query === undefined
      ? []
      : [await verifyInbox(inbox, { ...effects, query: effects.query }, since)];
  const followed =
    schedules === undefined
      ? []
      : [
          resultOf(
            'schedules in Temporal',
            await verifySchedules(database, schedules, durationOf('grace', options.grace, 60_000)),
          ),
        ];
  const invariants = [...rows.invariants, ...once, ...followed];
  return { ...rows, ok: invariants.every(({ ok }) => ok), invariants };
}

async function verifyRows(
  sql: Sql,
  logs: readonly VerifiedLog[],
  options: VerificationOptions,
  inbox: Sql,
): Promise<Omit<VerifyReport, 'ok'>> {
  const topics = logs.flatMap((log) => log.topics);
  const known = (await readTopicPolicies(sql)).map(({ name }) => name);
  const group = options.effects?.group;
  // Before the records and the ids: what a group has passed, it had handled by then.
  const places = group === undefined ? [] : await placesOf(logs, group);
  const records = await layRecords(sql, logs, options.since ?? null);
  const { grace, tolerance, maxTransaction, maxDuplicates } = options;
  const invariants: InvariantResult[] = [
    resultOf('I1 no loss', await verifyLoss(sql, durationOf('grace', grace, 60_000))),
    resultOf('I2 no ghost', await verifyGhosts(sql)),
    resultOf(
      'I3 order per key',
      await verifyOrder(sql, durationOf('maxTransaction', maxTransaction, 60_000)),
    ),
    resultOf('I5 canceled is not published', await verifyCanceled(sql)),
    resultOf('I6 never early', await verifyEarly(sql, durationOf('tolerance', tolerance, 5_000))),
    resultOf('I9 legal states', await verifyStates(sql)),
    resultOf('I9 guards, indexes and lanes', await verifyStructure(sql)),
    resultOf('I11 duplicates', await verifyDuplicates(sql, maxDuplicates ?? null)),
    resultOf('I14 audit as written', await verifyAudit(sql)),
  ];
  if (group !== undefined)
    invariants.push(
      resultOf(
        'I4 passed is handled',
        await verifyPassed(
          sql,
          places,
          await knownIds(inbox, group, await readInstallationId(sql)),
          durationOf('grace', grace, 60_000),
        ),
      ),
    );
  const read = new Set(topics.map(({ topic }) => topic));
  return { invariants, records, unreadTopics: known.filter((name) => !read.has(name)) };
}

async function placesOf(logs: readonly VerifiedLog[], group: string): Promise<readonly GroupPlace[]> {
  const places: GroupPlace[] = [];
  for (const { committed, topics } of logs)
    for (const address of new Set(topics.map((topic) => topic.address)))
      for (const [partition, offset] of (await committed?.(group, address)) ?? [])
        places.push({ address, partition, offset });
  return places;
}

/** Copies the logs into temporary tables. The lanes are read first, because what they have passed must be in the logs. */
async function layRecords(sql: Sql, logs: readonly VerifiedLog[], since: Date | null): Promise<number> {
  const installation = await beginVerification(
    sql,
    logs.flatMap((log) => log.topics),
    since,
  );
  const from = since === null ? null : new Date(since.getTime() - marginMs);
  const ranges = [];
  let count = 0;
  for (const { reader, topics } of logs) {
    const log = await reader.open([...new Set(topics.map(({ address }) => address))], from);
    ranges.push(...log.ranges);
    for await (const records of log.records()) {
      await addRecords(sql, installation, records);
      count += records.length;
    }
  }
  await endRecords(sql, ranges);
  return count;
}

async function verifyInbox(
  inbox: Database,
  effects: CountedEffects,
  since: Date | null,
): Promise<InvariantResult> {
  return inbox.transaction(async (sql) => {
    await sql.query('set transaction read only');
    await sql.query(trustRoleLocally);
    return resultOf('I4 effect once', await verifyEffects(sql, effects, since));
  });
}
