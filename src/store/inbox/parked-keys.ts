import {
  choiceCell,
  flagCell,
  numberCell,
  orNull,
  readRow,
  readRows,
  textCell,
} from '../database/answers.ts';
import type { Sql } from '../database/database.ts';
import type { TryRules } from './tries.ts';

/** A parked key whose workflow must be started. */
export interface WantedKey {
  readonly keyId: string;
  readonly workflowId: string;
  readonly topic: string;
  /** `null`: one message without a key. */
  readonly key: string | null;
  /** When its first message is tried, by the database's clock; 0: now. */
  readonly dueInMs: number;
  /** What happens to a running workflow: `if-idle`, because the try is late; `always`, because it waits for another time. */
  readonly replace: 'never' | 'if-idle' | 'always';
  /** When it was last started, with microseconds; {@link markKeysTold} compares it. */
  readonly toldAt: string | null;
}

/** Where the walk through the due keys of a group has arrived. */
export interface KeyCursor {
  readonly nextAt: string;
  readonly keyId: string;
}

/** How late a try may be before its workflow is started again, and the minimum time between two starts. */
const overdueMs = 5_000;
/** How late a try may be before its workflow is replaced, and the minimum time between two replacements. */
const stuckMs = 60_000;

const columns = `k.id::text as "keyId", k.workflow_id as "workflowId", k.topic, k.key, k.told_at::text as "toldAt",
  greatest(0, ceil(extract(epoch from k.next_at - outbox.clock()) * 1000))::float8 as "dueInMs"`;
const wantedKey = {
  keyId: textCell,
  workflowId: textCell,
  topic: textCell,
  key: orNull(textCell),
  dueInMs: numberCell,
  replace: choiceCell('never', 'if-idle', 'always'),
  toldAt: orNull(textCell),
};
const dueKey = {
  ...wantedKey,
  nextAt: textCell,
  wanted: flagCell,
  idle: flagCell,
  lateMs: orNull(numberCell),
};

/** Keys of a group whose workflow was never started, in the order of their due times. */
export async function untoldKeys(sql: Sql, group: string, limit: number): Promise<readonly WantedKey[]> {
  const rows = await sql.query<object>(
    `select ${columns}, 'never' as replace from outbox.parked_key k
     where k.consumer_group = $1 and k.told_at is null and k.next_at < 'infinity' order by k.next_at limit $2`,
    [group, limit],
  );
  return readRows(rows, wantedKey);
}

/** One key of a group that has a workflow, or should have one. */
export async function anyKey(sql: Sql, group: string): Promise<readonly WantedKey[]> {
  const rows = await sql.query<object>(
    `select ${columns}, 'never' as replace from outbox.parked_key k
     where k.consumer_group = $1 and k.next_at < 'infinity' order by k.next_at limit 1`,
    [group],
  );
  return readRows(rows, wantedKey);
}

/** A due key that nobody works on. */
export interface IdleKey extends WantedKey {
  /** For how long it has been due with its workflow started; `null`: its workflow was not started. */
  readonly lateMs: number | null;
}

/** What {@link overdueKeys} has found. */
export interface DueKeys {
  readonly keys: readonly WantedKey[];
  readonly idle: readonly IdleKey[];
  readonly next: KeyCursor | null;
}

/**
 * Among the next `limit` due keys of a group, those whose workflow seems to be lost or stuck: started, overdue, and not
 * started recently. Once a minute a start replaces the workflow if it is idle; `told_at = '-infinity'` requests an
 * unconditional replacement at once, as after a try was moved to an earlier time.
 *
 * A locked key is being worked on, and is left out.
 *
 * `idle`: those that have no try in hand, in the order of their due times. If a process has one in hand that is overdue, its
 * lock shows whether it still works.
 *
 * @param after the cursor of the walk; `null`: from the beginning
 * @returns `next`: where to continue, `null` at the end. Walking in pages keeps a look short, and every key has its turn,
 *   however many are due.
 */
export async function overdueKeys(
  sql: Sql,
  group: string,
  after: KeyCursor | null,
  limit: number,
): Promise<DueKeys> {
  const answered = await sql.query<object>(
    `with k as materialized (
       select p.id, p.workflow_id, p.topic, p.key, p.next_at, p.told_at, p.told_at = '-infinity' as asked, p.worker
       from outbox.due_keys($1, $2::timestamptz, $3::uuid, $4) p
     )
     select ${columns}, k.next_at::text as "nextAt",
       case when k.asked or (k.told_at is not null and greatest(k.told_at, k.next_at) < outbox.clock() - $5 * interval '1 ms')
         -- During a try its key is locked.
         then exists (select from outbox.parked_key l where l.id = k.id for share skip locked) else false end as wanted,
       case when k.worker is not null then exists (select from outbox.parked_key l where l.id = k.id for share skip locked)
         else true end as idle,
       case when k.told_at > '-infinity'
         then (extract(epoch from outbox.clock() - greatest(k.next_at, k.told_at)) * 1000)::float8 end as "lateMs",
       case when k.asked then 'always'
         when floor(extract(epoch from outbox.clock() - k.next_at) * 1000 / $6)
           > greatest(0, floor(extract(epoch from k.told_at - k.next_at) * 1000 / $6)) then 'if-idle' else 'never' end as replace
     from k order by k.next_at, k.id`,
    [
      group,
      after?.nextAt ?? '-infinity',
      after?.keyId ?? '00000000-0000-0000-0000-000000000000',
      limit,
      overdueMs,
      stuckMs,
    ],
  );
  const rows = readRows(answered, dueKey);
  const last = rows.at(-1);
  return {
    keys: rows.filter(({ wanted }) => wanted),
    idle: rows.filter(({ idle }) => idle),
    next: last !== undefined && rows.length === limit ? { nextAt: last.nextAt, keyId: last.keyId } : null,
  };
}

/** Milliseconds until the next key of a group is due, of those that are not due yet; `null`: none. */
export async function nextKeyInMs(sql: Sql, group: string): Promise<number | null> {
  const rows = await sql.query<object>(
    `select ceil(extract(epoch from k.next_at - outbox.clock()) * 1000)::float8 as "inMs" from outbox.parked_key k
     where k.consumer_group = $1 and k.next_at > outbox.clock() and k.next_at < 'infinity' order by k.next_at limit 1`,
    [group],
  );
  const [row] = readRows(rows, { inMs: numberCell });
  return row?.inMs ?? null;
}

/** What {@link endDeadTries} has found. */
export interface DeadTries {
  /** Keys that must continue at once. */
  readonly keys: readonly WantedKey[];
  /** Messages that were failed, because they have killed too many processes. */
  readonly gaveUp: readonly string[];
  /** Whether other processes have tries in hand, or had. */
  readonly others: boolean;
}

/**
 * Ends the tries of a group whose processes are dead: they have no connection to the database any more. Also shows that the
 * caller is alive, whose tries may outlive the connection on which they began.
 *
 * @param worker the caller's
 */
export async function endDeadTries(
  sql: Sql,
  group: string,
  worker: string,
  { blockKey, maxKills }: TryRules,
): Promise<DeadTries> {
  const asked = await sql.query<object>(
    `select exists (select from outbox.parked_key k
         where k.consumer_group = $1 and k.worker is not null and k.worker <> $2::bigint) as others,
       case when exists (select from outbox.parked_key k where k.consumer_group = $1 and k.worker = $2::bigint)
         then pg_try_advisory_lock_shared($2::bigint) end as shown`,
    [group, worker],
  );
  if (!readRow(asked, { others: flagCell }).others) return { keys: [], gaveUp: [], others: false };
  const ended = await sql.query<object>(
    `select key_id::text as "keyId", gave_up as "gaveUp" from outbox.end_dead_tries($1, $2::bigint, $3::integer, $4)`,
    [group, worker, maxKills, blockKey],
  );
  const dead = readRows(ended, { keyId: textCell, gaveUp: orNull(textCell) });
  // A separate statement, to see what the one above has changed.
  const keys = await sql.query<object>(
    `select ${columns}, 'always' as replace from outbox.parked_key k
     where k.id = any($1::uuid[]) and k.next_at < 'infinity'`,
    [dead.map(({ keyId }) => keyId)],
  );
  return {
    keys: readRows(keys, wantedKey),
    gaveUp: dead.flatMap(({ gaveUp }) => gaveUp ?? []),
    others: true,
  };
}

/**
 * Records that the workflows of these keys were started. It does not wait for locked keys, and leaves keys as they are that
 * were started or requested meanwhile: the next look finds both again, and starts them once more.
 */
export async function markKeysTold(
  sql: Sql,
  keys: readonly Pick<WantedKey, 'keyId' | 'toldAt'>[],
): Promise<void> {
  await sql.query(
    `with told as materialized (
       select k.id from unnest($1::uuid[], $2::timestamptz[]) as t (id, told_at) join outbox.parked_key k on k.id = t.id
       where k.told_at is not distinct from t.told_at for no key update of k skip locked
     ), limited as materialized (select outbox.limit_idle())
     update outbox.parked_key k set told_at = outbox.clock() from told t, limited where k.id = t.id`,
    [keys.map(({ keyId }) => keyId), keys.map(({ toldAt }) => toldAt)],
  );
}

/** Number of parked keys of a group, and of those that wait for a person. */
export async function countParkedKeys(
  sql: Sql,
  group: string,
): Promise<{ readonly parked: number; readonly blocked: number }> {
  const rows = await sql.query<object>(
    `select count(*)::integer as parked, count(*) filter (where next_at = 'infinity')::integer as blocked
     from outbox.parked_key where consumer_group = $1`,
    [group],
  );
  return readRow(rows, { parked: numberCell, blocked: numberCell });
}
