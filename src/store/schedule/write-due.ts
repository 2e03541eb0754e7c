import { cronTimes } from '../../core/cron.ts';
import type { Database, Sql } from '../database/database.ts';
import type { StoreAnswer } from '../message/new-message.ts';
import { storeMessages } from '../message/write.ts';

/**
 * What a time of a schedule did. `written`, also if it had been before; `busy`: the previous message is still to be sent;
 * `late`: later than the schedule catches up; `paused`; `off-rule`: no time of its rule, or earlier than that holds; `unknown`: it was
 * removed; `refused`: see the schedule's last error.
 */
export type DueAnswer = 'written' | 'busy' | 'late' | 'paused' | 'off-rule' | 'unknown' | 'refused';

/** What the messages of a schedule are made of. */
interface Template {
  readonly topic: string;
  readonly payload: string;
  readonly key: string | null;
  readonly ref: string | null;
  readonly expiresAfterMs: number | null;
  readonly headers: Readonly<Record<string, string>>;
}

interface DueRow extends Template {
  readonly cron: string | null;
  readonly everyMs: number | null;
  readonly timeZone: string;
  readonly early: boolean;
  readonly told: boolean;
  readonly id: string;
  readonly removed: boolean;
  readonly paused: boolean;
  readonly late: boolean;
  readonly busy: boolean;
}

/**
 * Writes the message of one time of a schedule, if its row says so. Its id is computed from installation, name and time, so that
 * a repeated call writes nothing more.
 */
export async function writeDue(database: Database, name: string, at: Date): Promise<DueAnswer> {
  return database.transaction(async (sql) => {
    const due = await lockDue(sql, name, at);
    if (due === undefined || due.removed) return 'unknown';
    if (due.paused) return 'paused';
    if (due.early || !isOfRule(due, at)) return 'off-rule';
    if (due.late) return 'late';
    if (due.busy) return 'busy';
    const answer = await storeScheduled(sql, name, due, at, due.id);
    // Its content was changed after this time had been written.
    const repeats = answer.refusal?.code === 'OUTBOX_ID_TAKEN';
    if (answer.refusal !== null && !repeats) {
      await sql.query('update outbox.schedule set last_error = $2::text where name = $1::text', [
        name,
        answer.refusal.message,
      ]);
      return 'refused';
    }
    await noteWritten(sql, name, at, due.id);
    return 'written';
  });
}

/**
 * Temporal may still have a former rule. A time that it has listed since it has this one is always right: its time zones may be of
 * another year than those of this process.
 */
function isOfRule({ cron, everyMs, timeZone, told }: DueRow, at: Date): boolean {
  if (cron !== null) return told || cronTimes(cron, timeZone)(at);
  return everyMs !== null && at.getTime() % everyMs === 0;
}

/** Locks the row first: its previous message was then written by a transaction that this statement sees. */
async function lockDue(sql: Sql, name: string, at: Date): Promise<DueRow | undefined> {
  await sql.query('select from outbox.schedule where name = $1::text for no key update', [name]);
  const [row] = await sql.query<DueRow>(
    `with recursive previous as (
       select s.last_message_id as id from outbox.schedule s where s.name = $1::text
       union all
       -- Its copy, if an operator edited it.
       select c.id from previous p join only outbox.message c on c.supersedes = p.id
     )
     select s.topic, s.payload, s.key, s.ref, s.expires_after_ms::float8 as "expiresAfterMs", s.headers, s.removed, s.paused, d.id,
       s.cron, s.every_ms::float8 as "everyMs", s.time_zone as "timeZone", $2::text::timestamptz = any (s.next_at) as told,
       $2::text::timestamptz < s.holds_since as early,
       outbox.clock() > $2::text::timestamptz + outbox.exact(s.catch_up_ms * interval '1 ms') as late,
       s.overlap = 'skip' and s.last_message_id is distinct from d.id and exists (select from previous p
         join outbox.message_view v on v.id = p.id where v.state in ('waiting', 'ready', 'blocked', 'retrying')) as busy
     from outbox.schedule s cross join outbox.installation i
     cross join lateral (select overlay(overlay(outbox.sha256(i.id || '/' || s.name || '/' || $2::text) placing '8' from 13 for 1)
       placing '8' from 17 for 1) as hash) h
     cross join lateral (select substr(h.hash, 1, 32)::uuid as id) d
     where s.name = $1::text`,
    [name, at.toISOString()],
  );
  return row;
}

async function storeScheduled(
  sql: Sql,
  name: string,
  { topic, payload, key, ref, expiresAfterMs, headers }: Template,
  at: Date,
  id?: string,
): Promise<StoreAnswer> {
  const [answer] = await storeMessages(sql, topic, [
    {
      payload,
      ...(key !== null && { key }),
      ...(ref !== null && { ref }),
      ...(id !== undefined && { id, unique: true as const }),
      // From the time that it stands for, so that a repeat and what is caught up late expire no later.
      ...(expiresAfterMs !== null && { expiresAt: new Date(at.getTime() + expiresAfterMs).toISOString() }),
      headers: { ...headers, schedule: name, 'scheduled-at': at.toISOString() },
    },
  ]);
  if (answer === undefined) throw new Error('The database returned no row for a stored message.');
  return answer;
}

async function noteWritten(sql: Sql, name: string, at: Date, id: string): Promise<void> {
  await sql.query(
    `update outbox.schedule set last_at = $2::text::timestamptz, last_message_id = $3::text::uuid, last_error = null
     where name = $1::text and (last_at is null or last_at <= $2::text::timestamptz)`,
    [name, at.toISOString(), id],
  );
}

/** Writes a message of the schedule for now, also while it is paused. @returns `undefined`: there is no such schedule */
export async function writeNow(sql: Sql, name: string): Promise<StoreAnswer | undefined> {
  const [row] = await sql.query<Template & { readonly now: Date }>(
    `select topic, payload, key, ref, expires_after_ms::float8 as "expiresAfterMs", headers, outbox.clock() as now from outbox.schedule
     where name = $1::text and not removed for no key update`,
    [name],
  );
  if (row === undefined) return undefined;
  const answer = await storeScheduled(sql, name, row, row.now);
  if (answer.refusal === null) await noteWritten(sql, name, row.now, answer.id);
  return answer;
}
