import { OutboxError } from '../../core/errors.ts';
import type { Lane } from '../../core/lane.ts';
import { type Author, transactOrRehearse, writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';

/** What is paused or resumed: one topic, or all topics of a transport. */
export type PauseScope = { readonly topic: string } | { readonly transport: string };

/** A lane that is being drained. */
export interface LeasedLane extends Lane {
  /** End of its lease, on the database's clock. */
  readonly aliveUntil: Date;
}

export interface PauseChange {
  /** False: it already was in that state. */
  readonly changed: boolean;
  /** Id of the audit entry. */
  readonly auditId: string;
}

/**
 * Sets or ends the pause of a topic or transport, with an audit entry.
 *
 * @param details for the audit
 * @throws OutboxError `OUTBOX_TOPIC_UNKNOWN`, `OUTBOX_TRANSPORT_UNKNOWN`
 */
export async function setPaused(
  database: Database,
  scope: PauseScope,
  paused: boolean,
  author: Author,
  options: { readonly dryRun?: boolean; readonly details?: Readonly<Record<string, unknown>> } = {},
): Promise<PauseChange> {
  return transactOrRehearse(database, options.dryRun ?? false, async (sql) => {
    const changed =
      'topic' in scope
        ? await setTopic(sql, scope.topic, paused)
        : await setTransport(sql, scope.transport, paused);
    const auditId = await auditPause(
      sql,
      scope,
      paused,
      author,
      changed ? 'done' : 'unchanged',
      options.details,
    );
    return { changed, auditId };
  });
}

/**
 * Pauses a topic for the caller's own purpose, unless it is already paused.
 *
 * @returns the audit entry, for {@link resumeOwn}; `undefined`: nothing was done
 */
export async function pauseIfRunning(
  database: Database,
  topic: string,
  author: Author,
  details: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  return database.transaction(async (sql) => {
    // Another pause may be about to commit: the next statement sees it.
    await sql.query('select from outbox.topic where name = $1 for update', [topic]);
    const rows = await sql.query(
      'update outbox.topic set paused = true, updated_at = now() where name = $1 and not outbox.is_paused(name) returning 1',
      [topic],
    );
    return rows.length === 0 ? undefined : auditPause(sql, { topic }, true, author, 'done', details);
  });
}

/** A pause of the caller, as {@link resumeOwn} takes it. */
export interface OwnPause {
  readonly topic: string;
  readonly pause: string | Readonly<Record<string, unknown>>;
  readonly author: Author;
}

/**
 * Resumes a topic that the caller has paused, unless it has been paused for another reason since then.
 *
 * @param pause the audit entry of the caller's pause; if its commit was not answered, the details that only this pause has:
 * then the caller may also not have paused the topic
 */
export async function resumeOwn(
  database: Database,
  topic: string,
  pause: string | Readonly<Record<string, unknown>>,
  author: Author,
): Promise<void> {
  await database.transaction(async (sql) => {
    // A pause locks this row first: from here on, another pause is either in the audit or follows this resume.
    await sql.query('select from outbox.topic where name = $1 for update', [topic]);
    const auditId = typeof pause === 'string' ? pause : await findPause(sql, topic, pause);
    if (auditId === undefined) return;
    const since = await sql.query(
      `select from outbox.audit where topic = $1 and message_id is null and action = 'pause' and id > $2 limit 1`,
      [topic, auditId],
    );
    const mayResume = since.length === 0;
    const changed = mayResume && (await setTopic(sql, topic, false));
    await auditPause(sql, { topic }, false, author, changed ? 'done' : 'left-paused', { pause: auditId });
  });
}

/** As {@link resumeOwn} for each of these, also if another one fails. @throws the first error */
export async function resumeEachOwn(database: Database, pauses: Iterable<OwnPause>): Promise<void> {
  const failures: unknown[] = [];
  for (const { topic, pause, author } of pauses)
    await resumeOwn(database, topic, pause, author).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

async function findPause(
  sql: Sql,
  topic: string,
  details: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  const [found] = await sql.query<{ readonly id: string }>(
    `select id from outbox.audit where topic = $1 and message_id is null and action = 'pause' and details @> $2::text::jsonb
     order by id desc limit 1`,
    [topic, JSON.stringify(details)],
  );
  return found?.id;
}

/** Lanes of the scope with a valid lease. */
export async function readLeasedLanes(sql: Sql, scope: PauseScope): Promise<readonly LeasedLane[]> {
  return sql.query<LeasedLane>(
    `select l.topic, l.n as lane, l.alive_until as "aliveUntil"
     from outbox.lane l
     where outbox.lane_taken(l) and l.topic in (select outbox.topics_of($1, $2))
     order by l.topic, l.n`,
    scopeValues(scope),
  );
}

/** All lanes of the scope. */
export async function readLanesOf(sql: Sql, scope: PauseScope): Promise<readonly Lane[]> {
  return sql.query<Lane>(
    `select topic, n as lane from outbox.lane where topic in (select outbox.topics_of($1, $2)) order by topic, n`,
    scopeValues(scope),
  );
}

function scopeValues(scope: PauseScope): readonly [string | null, string | null] {
  return 'topic' in scope ? [scope.topic, null] : [null, scope.transport];
}

async function setTopic(sql: Sql, topic: string, paused: boolean): Promise<boolean> {
  const [row] = await sql.query<{ paused: boolean }>(
    'select paused from outbox.topic where name = $1 for update',
    [topic],
  );
  if (row === undefined) {
    throw new OutboxError('OUTBOX_TOPIC_UNKNOWN', `No relay has announced the topic "${topic}".`, {
      details: { topic },
    });
  }
  if (row.paused === paused) return false;
  await sql.query('update outbox.topic set paused = $2, updated_at = now() where name = $1', [topic, paused]);
  return true;
}

async function setTransport(sql: Sql, transport: string, paused: boolean): Promise<boolean> {
  const used = await sql.query('select from outbox.topic where transport = $1 limit 1', [transport]);
  if (used.length === 0) {
    throw new OutboxError('OUTBOX_TRANSPORT_UNKNOWN', `No topic uses the transport "${transport}".`, {
      details: { transport },
    });
  }
  await sql.query('insert into outbox.transport (name) values ($1) on conflict do nothing', [transport]);
  const rows = await sql.query(
    'update outbox.transport set paused = $2, updated_at = now() where name = $1 and paused <> $2 returning 1',
    [transport, paused],
  );
  return rows.length > 0;
}

async function auditPause(
  sql: Sql,
  scope: PauseScope,
  paused: boolean,
  author: Author,
  result: string,
  details?: Readonly<Record<string, unknown>>,
): Promise<string> {
  const [id = ''] = await writeAudit(sql, [
    {
      ...author,
      action: paused ? 'pause' : 'resume',
      messageId: null,
      topic: 'topic' in scope ? scope.topic : null,
      result,
      details: 'topic' in scope ? details : { transport: scope.transport, ...details },
    },
  ]);
  return id;
}
