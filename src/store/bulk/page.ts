import { passCrashPoint } from '../../core/crash-point.ts';
import type { Lane } from '../../core/lane.ts';
import { type Author, messagesPerTransaction } from '../audit/audit.ts';
import { jsonCell, numberCell, readRow, readRows } from '../database/answers.ts';
import type { Sql, Transactions } from '../database/database.ts';
import { storableText } from '../database/storable-text.ts';
import type { PageCursor } from '../message/list.ts';
import type { BulkCounts, BulkScope, BulkStanding, BulkState } from './bulk.ts';
import { messagesOf } from './messages.ts';
import type { PageAnswer } from './page-answer.ts';

/** How long to retry messages that others have locked, after all other messages are done. */
const patienceMs = 30_000;
/** With this many locked messages the walk waits. */
const maxPending = 1_000;
/**
 * When the rate of the operation `b` allows the next page. A time beyond what the largest page asks for, and half a minute, is
 * from before the clock was set back, and must not stop the operation for as long as the clock was wrong.
 */
const nextPageAt = `case when b.next_page_at <= clock_timestamp() + interval '30 seconds'
  + case when b.consumer_group is null then least(${messagesPerTransaction}, b.rate_per_second) else ${maxPending} end
    / b.rate_per_second::float8 * interval '1 second' then b.next_page_at else clock_timestamp() end`;

/** What one page did, or why it did nothing. */
export type PageResult =
  /** There is no such operation. */
  | { readonly kind: 'unknown' }
  /** It does not run, or no longer. */
  | { readonly kind: 'resting'; readonly state: Exclude<BulkState, 'running'>; readonly counts: BulkCounts }
  /** The rate does not allow a page yet. */
  | { readonly kind: 'early'; readonly waitMs: number }
  | {
      readonly kind: 'done' | 'more';
      readonly counts: BulkCounts;
      readonly answered: number;
      /** Time until the rate allows the next page. */
      readonly waitMs: number;
      /** True: only locked messages are left, or too many messages are locked. */
      readonly locked: boolean;
      /** Lanes that may have work now. */
      readonly lanes: readonly Lane[];
    };

/** A running operation, locked by the current transaction. */
export type LockedBulk = BulkScope & LockedStanding;

interface LockedStanding
  extends Pick<BulkStanding, 'id' | 'action' | 'arguments' | 'ratePerSecond' | 'state'> {
  readonly author: Author;
  readonly selectedUntil: string;
  readonly cursor: PageCursor;
  readonly walked: boolean;
  readonly pendingIds: readonly string[];
  /** Only locked messages have been tried for longer than {@link patienceMs}. */
  readonly patienceOver: boolean;
  readonly counts: BulkCounts;
  readonly waitMs: number;
}

interface Chosen {
  readonly ids: readonly string[];
  readonly cursor: PageCursor;
  readonly walked: boolean;
  /** Chosen earlier, but not tried now. */
  readonly later: readonly string[];
  readonly last: boolean;
}

/**
 * Processes the next page of a bulk operation: chooses, changes and audits its messages, and updates the operation's row, in
 * one transaction. So a crash repeats nothing, and two runners of one operation take turns by locking its row.
 */
export async function runPage(database: Transactions, id: string): Promise<PageResult> {
  return database.transaction(async (sql) => {
    const bulk = await lockBulk(sql, id);
    if (bulk === undefined) return { kind: 'unknown' };
    const { state, counts, waitMs, author } = bulk;
    if (state !== 'running') return { kind: 'resting', state, counts };
    if (waitMs > 0) return { kind: 'early', waitMs };
    const chosen = await choose(sql, bulk);
    const { answers, busy } = await messagesOf(bulk).change(sql, chosen.ids, author, chosen.last);
    const page = await moveOn(sql, bulk, chosen, { pending: [...chosen.later, ...busy], answers });
    passCrashPoint('bulk:page-open');
    return page;
  });
}

/**
 * Records a page that ended with an error. After `most` in a row the operation is failed, and waits for an operator.
 *
 * @returns its state now; `undefined`: there is no such operation
 */
export async function recordPageFailure(
  sql: Sql,
  id: string,
  error: string,
  most: number,
): Promise<{ readonly state: BulkState } | undefined> {
  const [row] = await sql.query<{ readonly state: BulkState }>(
    `update outbox.bulk_operation b set failures = b.failures + 1, last_error = $2::text, updated_at = now(),
       state = case when b.state = 'running' and b.failures + 1 >= $3::integer then 'failed' else b.state end
     where b.id = $1::uuid returning b.state`,
    [id, storableText(error), most],
  );
  return row;
}

async function lockBulk(sql: Sql, id: string): Promise<LockedBulk | undefined> {
  // The consumers of a group run its operations on their own clients, so the row is one text.
  const rows = await sql.query<object>(
    `select to_json(x)::text as bulk from (
     select b.id::text as id, b.consumer_group as "group", b.action, b.arguments, b.filter, b.rate_per_second as "ratePerSecond", b.state, b.counts, b.walked,
       json_build_object('actor', b.actor, 'reason', b.reason, 'bulkId', b.id) as author, b.selected_until::text as "selectedUntil",
       json_build_object('position', b.walked_position::text, 'id', b.walked_id) as cursor, b.pending as "pendingIds",
       coalesce(b.pending_since < clock_timestamp() - $2::float8 * interval '1 ms', false) as "patienceOver",
       greatest(0, ceil(extract(epoch from (${nextPageAt}) - clock_timestamp()) * 1000))::float8 as "waitMs"
     from outbox.bulk_operation b where b.id = $1::uuid for update) x`,
    [id, patienceMs],
  );
  const [row] = readRows(rows, { bulk: jsonCell });
  return row?.bulk as LockedBulk | undefined;
}

/** The next messages of the walk; after its end, or if too many are pending, those that others had locked. */
async function choose(sql: Sql, bulk: LockedBulk): Promise<Chosen> {
  const { id, pendingIds, cursor, walked, ratePerSecond } = bulk;
  const size = Math.min(messagesPerTransaction, ratePerSecond);
  if (bulk.group !== null) return chooseKept(sql, bulk, size);
  if (walked || pendingIds.length >= maxPending) {
    const [ids, later] = [pendingIds.slice(0, size), pendingIds.slice(size)];
    return { ids, later, cursor, walked, last: bulk.patienceOver };
  }
  const page = await messagesOf(bulk).walk.page(sql, cursor, size, id);
  return {
    // A message that became due meanwhile has a new position, and may be found a second time.
    ids: page.ids.filter((each) => !pendingIds.includes(each)),
    later: pendingIds,
    cursor: page.next ?? cursor,
    walked: page.next === null,
    last: false,
  };
}

/** Kept messages that others had in hand come first in each page, so that no later one of their key overtakes them. */
async function chooseKept(sql: Sql, bulk: LockedBulk, size: number): Promise<Chosen> {
  const { id, pendingIds, cursor, walked } = bulk;
  const room = Math.min(size, maxPending - pendingIds.length);
  if (walked || room <= 0) return { ids: pendingIds, later: [], cursor, walked, last: bulk.patienceOver };
  const page = await messagesOf(bulk).walk.page(sql, cursor, room, id);
  return {
    ids: [...pendingIds, ...page.ids],
    later: [],
    cursor: page.next ?? cursor,
    walked: page.next === null,
    last: false,
  };
}

/** Writes the progress of the operation, and when its rate allows the next page; up to a second may be caught up. */
async function moveOn(
  sql: Sql,
  bulk: LockedBulk,
  { cursor, walked }: Chosen,
  { pending, answers }: { readonly pending: readonly string[]; readonly answers: readonly PageAnswer[] },
): Promise<Extract<PageResult, { kind: 'done' | 'more' }>> {
  const counts = add(bulk.counts, answers);
  const done = walked && pending.length === 0;
  const locked = pending.length > 0 && (walked || pending.length >= maxPending);
  const rows = await sql.query<object>(
    `update outbox.bulk_operation b set walked_position = $2::bigint, walked_id = $3::text, walked = $4::boolean,
       pending = $5::text[], counts = $6::text::jsonb, pending_since = case when $7::boolean then least(b.pending_since, clock_timestamp()) end,
       next_page_at = greatest(${nextPageAt}, clock_timestamp() - interval '1 second')
         + $8::float8 / b.rate_per_second * interval '1 second',
       failures = 0, last_error = null, updated_at = now(),
       state = case when $9::boolean then 'done' else b.state end,
       finished_at = case when $9::boolean then now() else b.finished_at end
     where b.id = $1::uuid
     returning greatest(0, ceil(extract(epoch from b.next_page_at - clock_timestamp()) * 1000))::float8 as "waitMs"`,
    [
      bulk.id,
      cursor.position,
      cursor.id,
      walked,
      [...pending],
      JSON.stringify(counts),
      locked,
      answers.length,
      done,
    ],
  );
  return {
    kind: done ? 'done' : 'more',
    counts,
    answered: answers.length,
    waitMs: readRow(rows, { waitMs: numberCell }).waitMs,
    locked,
    lanes: lanesOf(answers),
  };
}

function add(counts: BulkCounts, answers: readonly PageAnswer[]): BulkCounts {
  const sum: Record<string, number> = { ...counts };
  for (const { result } of answers) sum[result] = (sum[result] ?? 0) + 1;
  return sum;
}

function lanesOf(answers: readonly PageAnswer[]): readonly Lane[] {
  const lanes = answers.flatMap(({ topic, lane = null }): readonly Lane[] =>
    topic === null || lane === null ? [] : [{ topic, lane }],
  );
  return [...new Map(lanes.map((lane) => [`${lane.topic}/${lane.lane}`, lane])).values()];
}
