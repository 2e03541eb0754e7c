import { type DoctorFinding, judgeAll } from '../../core/diagnosis.ts';
import { readLaneLocks } from '../../operations/delivery/lane-locks.ts';
import { clockChecks, clockOf } from '../../operations/doctor/clock-checks.ts';
import { connectionChecks } from '../../operations/doctor/connection-checks.ts';
import { type DoctorDelivery, deliveryChecks } from '../../operations/doctor/delivery-checks.ts';
import { privilegeChecks } from '../../operations/doctor/privilege-checks.ts';
import { isMigrated, readSchemaFacts, schemaChecks } from '../../operations/doctor/schema-checks.ts';
import { serverChecks } from '../../operations/doctor/server-checks.ts';
import { type VacuumLimits, vacuumChecks } from '../../operations/doctor/vacuum-checks.ts';
import type { Sql } from '../../store/database/database.ts';
import type { DatabaseAddress } from '../../store/database/database-address.ts';
import { openDatabase } from '../../store/database/pool.ts';
import { named } from '../../store/database/visit.ts';
import { readArchiveFacts, readLeafFacts } from '../../store/doctor/archive.ts';
import { readConnectionFacts } from '../../store/doctor/connections.ts';
import { readChangeFacts, readLaneFacts, readMonths } from '../../store/doctor/lanes.ts';
import { readOwnerFacts, readRoleFacts } from '../../store/doctor/privileges.ts';
import { readServerClock, readServerFacts } from '../../store/doctor/server.ts';
import { readUndelivered } from '../../store/doctor/undelivered.ts';
import { readVacuumFacts } from '../../store/doctor/vacuum.ts';
import { countConsumers } from '../../store/inbox/consumers.ts';
import { readCertificates } from '../../store/installation/certificates.ts';
import { readInstallation } from '../../store/installation/installation.ts';
import { readRelays } from '../../store/installation/relays.ts';
import { readTwin } from '../../store/installation/twin.ts';
import { readTopicPolicies } from '../../store/lane/topic-policies.ts';
import type { TopicPolicy } from '../../store/lane/topics.ts';
import { asFindings } from './doctor-findings.ts';
import { isTimeOut } from './time-out.ts';

export interface DatabaseExamination {
  readonly findings: readonly DoctorFinding[];
  /** The id of the installation if one of its relays is running. */
  readonly delivering: string | undefined;
  /** Number of partitions by which keys of an address are placed. */
  readonly pinned: ReadonlyMap<string, number>;
}

export interface DatabaseQuestions {
  readonly at: DatabaseAddress;
  /** The topics of the configuration. */
  readonly configured: readonly TopicPolicy[];
  readonly historyMs: number;
  /** How long a published message stays in the live table. */
  readonly archiveAfterMs: number;
  /** How many connections a relay opens. */
  readonly relayConnections: number;
  readonly vacuum: VacuumLimits;
  /** Milliseconds since 1970 by this machine's clock. */
  readonly now: () => number;
}

/** A check whose statement takes longer is reported as not examined, unless a lock keeps it waiting. */
const statementMs = 3_000;
const clockSamples = 3;

/**
 * Examines the database, over two connections. Writes nothing.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_SERVER_REFUSED` or `OUTBOX_TLS_FAILED`
 */
export async function examineDatabase(questions: DatabaseQuestions): Promise<DatabaseExamination> {
  const { at } = questions;
  const database = openDatabase({
    ...at,
    connections: 2,
    ownNames: true,
    limits: { statementMs, lockMs: statementMs },
  });
  try {
    return await named(at.url, () => examine(database, questions));
  } finally {
    await database.close();
  }
}

async function examine(sql: Sql, questions: DatabaseQuestions): Promise<DatabaseExamination> {
  const server = judgeAll(serverChecks, await readServerFacts(sql));
  const clock = judgeAll(clockChecks, await readClock(sql, questions.now));
  const vacuum = await asFindings('vacuum', async () =>
    judgeAll(vacuumChecks(questions.vacuum), await readVacuumFacts(sql)),
  );
  const schema = await readSchemaFacts(sql);
  const before = [...server, ...clock, ...judgeAll(schemaChecks, schema)];
  if (!isMigrated(schema))
    return { findings: [...before, ...vacuum], delivering: undefined, pinned: new Map() };
  const privileges = await asFindings('privileges', async () =>
    judgeAll(privilegeChecks, { own: await readOwnerFacts(sql), roles: await readRoleFacts(sql) }),
  );
  const moved = await asFindings('installation', async () => {
    await readInstallation(sql);
    return [];
  });
  const delivery = await examineDelivery(sql, questions);
  const findings = [...before, ...privileges, ...moved, ...delivery.findings, ...vacuum];
  return { ...delivery, findings };
}

async function examineDelivery(sql: Sql, questions: DatabaseQuestions): Promise<DatabaseExamination> {
  let facts: DoctorDelivery | undefined;
  const findings = await asFindings('delivery', async () => {
    facts = await readDelivery(sql, questions).catch((error: unknown) => unlessLocked(sql, error));
    return judgeAll(deliveryChecks, facts);
  });
  const running = facts?.relays.some(({ alive }) => alive) ?? false;
  const connections = await asFindings('connections', async () =>
    judgeAll(connectionChecks, {
      ...(await readConnectionFacts(sql)),
      needed: questions.relayConnections,
      running,
    }),
  );
  const pins = (facts?.stored ?? []).flatMap(({ address, partitions }) =>
    partitions === null ? [] : [[address, partitions] as const],
  );
  return {
    findings: [...findings, ...connections],
    delivering: running ? await readInstallation(sql).catch(() => undefined) : undefined,
    pinned: new Map(pins),
  };
}

/** A lock against reads is a problem, not slowness. */
async function unlessLocked(sql: Sql, error: unknown): Promise<never> {
  if (isTimeOut(error)) await readLaneLocks(sql, 0);
  throw error;
}

async function readDelivery(
  sql: Sql,
  { configured, historyMs, archiveAfterMs }: DatabaseQuestions,
): Promise<DoctorDelivery> {
  return {
    configured,
    historyMs,
    unarchived: await readArchiveFacts(sql, archiveAfterMs),
    leaves: await readLeafFacts(sql),
    // First, because it does not wait for locks, as the others would.
    locks: await readLaneLocks(sql),
    relays: await readRelays(sql),
    lanes: await readLaneFacts(sql),
    undelivered: await readUndelivered(sql),
    changes: await readChangeFacts(sql),
    stored: await readTopicPolicies(sql),
    twin: await readTwin(sql),
    months: await readMonths(sql),
    consumers: await countConsumers(sql),
    certificates: await readCertificates(sql),
  };
}

async function readClock(sql: Sql, now: () => number) {
  const samples: [number, number, number][] = [];
  for (let n = 0; n < clockSamples; n += 1) {
    const before = now();
    const there = await readServerClock(sql);
    samples.push([before, there, now()]);
  }
  return clockOf(samples);
}
