import { type Author, writeAudit } from '../audit/audit.ts';
import type { Database, Sql, Transactions } from '../database/database.ts';
import type { NewDue } from '../message/reschedule.ts';
import type { KeptBulkFilter } from './kept-selection.ts';
import type { BulkFilter } from './selection.ts';
import { walkStart } from './walk.ts';

/** What a bulk operation does to every message. */
export type BulkAction = 'cancel' | 'discard' | 'replay' | 'reschedule' | 'retry';

/** What a bulk operation can do to kept messages. */
export type KeptAction = 'discard' | 'retry';

/** All of them. */
export const keptActions = ['discard', 'retry'] as const satisfies readonly KeptAction[];

/** The messages of a bulk operation. */
export type BulkScope =
  /** Messages of the outbox: relays run it. */
  | { readonly group: null; readonly filter: BulkFilter }
  /** Messages that this group keeps: its consumers run it. */
  | { readonly group: string; readonly filter: KeptBulkFilter };

/**
 * - `running`: it progresses while a relay, or a consumer of the group, runs.
 * - `paused`: an operator has paused it; it can be resumed.
 * - `failed`: the same page failed repeatedly (`lastError`); it can be resumed.
 * - `aborted`, `done`: ended.
 */
export type BulkState = 'running' | 'paused' | 'aborted' | 'done' | 'failed';

/** Number of messages by result; the results are those of single operations. */
export type BulkCounts = Readonly<Record<string, number>>;

/** A change with its parameters. */
export type BulkChange =
  | { readonly action: Exclude<BulkAction, 'reschedule' | 'replay'> }
  | ({ readonly action: 'replay' } & ReplayTarget)
  | { readonly action: 'reschedule'; readonly due: NewDue };

/** What a replay sends, and where. */
export interface ReplayTarget {
  /** Name of the topic that gets the copies. */
  readonly to: string;
  /** Ids of the messages; they must match the filter, too. Absent: all that match. */
  readonly ids?: readonly string[];
}

/** A new bulk operation. */
export interface NewBulk {
  readonly id: string;
  readonly change: BulkChange;
  readonly scope: BulkScope;
  readonly author: Author & { readonly reason: string };
  readonly ratePerSecond: number;
  readonly selectedUntil: string;
  readonly total: number;
  readonly totalExact: boolean;
}

/** A bulk operation, as stored in its row. */
export type BulkRow = BulkScope & BulkStanding;

/** What a bulk operation does, and its state. */
export interface BulkStanding {
  /** UUID of the operation. */
  readonly id: string;
  /** What it does to every message. `withdraw`: an earlier version began it; this one changes nothing, and it fails. */
  readonly action: BulkAction | 'withdraw';
  /** For `reschedule`: the new due time; for `replay`: the topic, and the ids if they were given; else empty. */
  readonly arguments: NewDue | ReplayTarget | Readonly<Record<string, never>>;
  /** Who started it, 1 to 200 characters. */
  readonly actor: string;
  /** Why, up to 2,000 characters. */
  readonly reason: string;
  /** Maximum number of messages per second, 1 to 10,000. */
  readonly ratePerSecond: number;
  /** Its state. */
  readonly state: BulkState;
  /** Messages counted at the start. */
  readonly total: number;
  /** False: there were at least this many. */
  readonly totalExact: boolean;
  /** Number of messages by result so far. */
  readonly counts: BulkCounts;
  /** Messages that are chosen but not processed yet, because others have locked them. */
  readonly pending: number;
  /** The error of the last page; `null`: it succeeded. */
  readonly lastError: string | null;
  /** When it was started, on the database's clock. */
  readonly createdAt: Date;
  /** When its row was last written, on the database's clock. */
  readonly updatedAt: Date;
  /** When it ended, on the database's clock; `null`: it has not. */
  readonly finishedAt: Date | null;
}

const columns = `b.id, b.consumer_group as "group", b.action, b.filter, b.arguments, b.actor, b.reason, b.rate_per_second as "ratePerSecond", b.state, b.total,
  b.total_exact as "totalExact", b.counts, cardinality(b.pending) as pending, b.last_error as "lastError",
  b.created_at as "createdAt", b.updated_at as "updatedAt", b.finished_at as "finishedAt"`;

/**
 * Stores a bulk operation with its audit entry; it begins within about a second. One without messages is done at once.
 */
export async function insertBulk(database: Database, bulk: NewBulk): Promise<BulkRow> {
  const { id, change, scope, author, ratePerSecond, selectedUntil, total, totalExact } = bulk;
  const { group, filter } = scope;
  const state: BulkState = total === 0 && totalExact ? 'done' : 'running';
  return database.transaction(async (sql) => {
    const [row] = await sql.query<BulkRow>(
      `insert into outbox.bulk_operation as b (id, consumer_group, action, filter, arguments, actor, reason, rate_per_second, state, selected_until,
         total, total_exact, walked_position, walked_id, walked, pending, counts, next_page_at, failures, finished_at)
       values ($1, $2, $3, $4::text::jsonb, $5::text::jsonb, $6, $7, $8, $9::text, $10::text::timestamptz, $11, $12,
         $13::bigint, $14, $9::text = 'done', '{}', '{}', clock_timestamp(), 0,
         case when $9::text = 'done' then now() end)
       returning ${columns}`,
      [
        id,
        group,
        change.action,
        JSON.stringify(filter),
        JSON.stringify(argumentsOf(change)),
        author.actor,
        author.reason,
        ratePerSecond,
        state,
        selectedUntil,
        total,
        totalExact,
        walkStart.position,
        walkStart.id,
      ],
    );
    if (row === undefined) throw new Error('An insert answers its row.');
    const details = {
      action: change.action,
      filter,
      arguments: row.arguments,
      ratePerSecond,
      total,
      totalExact,
    };
    await auditBulk(sql, id, 'start', 'done', author, details);
    return row;
  });
}

function argumentsOf(change: BulkChange): BulkStanding['arguments'] {
  if (change.action === 'reschedule') return change.due;
  if (change.action !== 'replay') return {};
  const { ids, to } = change;
  return { to, ...(ids !== undefined && { ids }) };
}

/**
 * The bulk operations on messages of the outbox, or on those that consumers keep, newest first.
 *
 * @param topics only those whose filter, and whose other topic of a replay, is one of these; `undefined`: all
 */
export async function readBulks(
  sql: Sql,
  kept: boolean,
  limit: number,
  topics?: readonly string[],
): Promise<readonly BulkRow[]> {
  return sql.query<BulkRow>(
    `select ${columns} from outbox.bulk_operation b where (b.consumer_group is not null) = $2::boolean
       and ($3::text[] is null or b.filter ->> 'topic' = any($3) and coalesce(b.arguments ->> 'to' = any($3), true))
     order by b.created_at desc, b.id desc limit $1`,
    [limit, kept, topics ?? null],
  );
}

export async function readBulk(sql: Sql, id: string): Promise<BulkRow | undefined> {
  const [row] = await sql.query<BulkRow>(`select ${columns} from outbox.bulk_operation b where b.id = $1`, [
    id,
  ]);
  return row;
}

/** What an operator can do to a bulk operation. */
export type BulkStep = 'pause' | 'resume' | 'abort';

/** The states in which each step is allowed, and the state that it leads to. */
export const bulkSteps: Readonly<
  Record<BulkStep, { readonly from: readonly BulkState[]; readonly to: BulkState }>
> = {
  pause: { from: ['running'], to: 'paused' },
  resume: { from: ['paused', 'failed'], to: 'running' },
  abort: { from: ['running', 'paused', 'failed'], to: 'aborted' },
};

/** What a pause, resume or abort of a bulk operation did. */
export interface BulkStepAnswer {
  /** False: its state did not allow it, or already was the wanted one. */
  readonly changed: boolean;
  /** The state afterwards. */
  readonly state: BulkState;
}

/**
 * Changes the state of a bulk operation by a compare-and-set, with an audit entry. The current page is finished first.
 *
 * @returns `undefined`: there is no such operation
 */
export async function takeBulkStep(
  database: Transactions,
  id: string,
  step: BulkStep,
  author: Author,
): Promise<BulkStepAnswer | undefined> {
  const { from, to } = bulkSteps[step];
  return database.transaction(async (sql) => {
    const changed = await sql.query(
      `update outbox.bulk_operation b set state = $2::text, updated_at = now(), failures = 0,
         finished_at = case when $2::text = 'aborted' then now() end,
         -- The workflow of a paused operation sleeps for up to a minute.
         told_at = case when $2::text = 'running' then '-infinity' else b.told_at end
       where b.id = $1::uuid and b.state = any($3::text[]) returning 1`,
      [id, to, [...from]],
    );
    const [row] = await sql.query<{ readonly state: BulkState }>(
      'select b.state from outbox.bulk_operation b where b.id = $1::uuid',
      [id],
    );
    if (row === undefined) return undefined;
    await auditBulk(sql, id, step, changed.length > 0 ? 'done' : 'unchanged', author);
    return { changed: changed.length > 0, state: row.state };
  });
}

async function auditBulk(
  sql: Sql,
  bulkId: string,
  step: BulkStep | 'start',
  result: 'done' | 'unchanged',
  author: Author,
  details?: Readonly<Record<string, unknown>>,
): Promise<void> {
  const action = `bulk-${step}`;
  await writeAudit(sql, [{ ...author, bulkId, action, messageId: null, result, details }]);
}
