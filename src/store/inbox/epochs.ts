import { OutboxError } from '../../core/errors.ts';
import { choiceCell, flagCell, numberCell, readRow, readRows, textCell } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

// Epochs of processed ids. What each step locks, and why that is enough, is documented at its function in the migration.

/** Messages per transaction; at most this many ids are written per group. */
const pageMessages = 1_000;

/** A stretch of time whose processed ids are dropped together. */
export interface Epoch {
  readonly epoch: string;
  readonly current: boolean;
  /** Time since its end; for the current one, since its beginning. */
  readonly ageMs: number;
  /** Failed tries to end or drop it, because handlers were in the way. */
  readonly tries: number;
}

/** How all keepers of a database together retry a change of epochs that handlers block. */
export interface ChangePace {
  /** Lock timeout of the first try; each further one waits twice as long, at most 5 s. */
  readonly patienceMs: number;
  /** Between two tries. */
  readonly pauseMs: number;
}

/** Stands for all ids of a database, including those of `once`; no group has this name. */
export const wholeDatabase = '';

/** All epochs, oldest first. */
export async function readEpochs(sql: Sql): Promise<readonly Epoch[]> {
  const rows = await sql.query<object>(
    `select e.epoch::text as epoch, e.ended_at is null as current,
       (extract(epoch from outbox.clock() - coalesce(e.ended_at, e.begun_at)) * 1000)::float8 as "ageMs",
       e.tries
     from outbox.processed_epoch e order by e.epoch`,
  );
  return readRows(rows, { epoch: textCell, current: flagCell, ageMs: numberCell, tries: numberCell });
}

/**
 * Whether this role may begin and drop epochs. `false`: it may not, and a relay that has kept the processed ids of this
 * database within the last day does it.
 *
 * @throws OutboxError `OUTBOX_PRIVILEGE_MISSING` where nobody is known to do it
 */
export async function mayChangeEpochs(sql: Sql): Promise<boolean> {
  const rows = await sql.query<object>(
    `select current_user::text as role,
       has_function_privilege('outbox.roll_processed(bigint, integer, integer)', 'execute')
         and has_function_privilege('outbox.drop_processed(bigint, integer, integer)', 'execute') as may,
       exists (select from outbox.consumer_group g
         where g.consumer_group = $1 and g.seen_at > outbox.clock() - interval '1 day') as "byRelay"`,
    [wholeDatabase],
  );
  const { role, may, byRelay } = readRow(rows, { role: textCell, may: flagCell, byRelay: flagCell });
  if (may) return true;
  if (byRelay) return false;
  throw new OutboxError(
    'OUTBOX_PRIVILEGE_MISSING',
    `The role "${role}" may not execute outbox.roll_processed and outbox.drop_processed: no processed id of this database is deleted.`,
    { details: { role, functions: ['outbox.roll_processed', 'outbox.drop_processed'] } },
  );
}

/**
 * Ends the current epoch and begins the next one.
 *
 * @param epochMs how long the current one must have lasted
 * @param pace how long it waits for writers, and meanwhile blocks others: twice, for batches and for single messages
 * @returns `young`: it has not lasted long enough, or is empty; `busy`: writers or another keeper were in the way, or it was
 * tried a moment ago
 */
export async function rollEpoch(
  sql: Sql,
  epochMs: number,
  { patienceMs, pauseMs }: ChangePace,
): Promise<'rolled' | 'young' | 'busy'> {
  const rows = await sql.query<object>(
    'select outbox.roll_processed($1::bigint, $2::integer, $3::integer) as answer',
    [String(epochMs), patienceMs, pauseMs],
  );
  return readRow(rows, { answer: choiceCell('rolled', 'young', 'busy') }).answer;
}

/** One page of ids that outlast their epoch. */
export interface CarriedPage {
  readonly carried: number;
  readonly complete: boolean;
  /** Another keeper was working on it. */
  readonly busy: boolean;
}

const carriedPage = { carried: numberCell, complete: flagCell, busy: flagCell };

/** Carries ids of live messages over to the current epoch; continues where the previous page ended. */
export async function carryLive(sql: Sql, epoch: string): Promise<CarriedPage> {
  const rows = await sql.query<object>(
    `select c.carried, c.complete, c.busy from outbox.carry_live($1::bigint, ${pageMessages}) c`,
    [epoch],
  );
  return readRow(rows, carriedPage);
}

/** The same for messages that a consumer keeps. */
export async function carryKept(sql: Sql, epoch: string): Promise<CarriedPage> {
  const rows = await sql.query<object>(
    `select c.carried, c.complete, c.busy from outbox.carry_kept($1::bigint, ${pageMessages}) c`,
    [epoch],
  );
  return readRow(rows, carriedPage);
}

/** Drops an epoch whose remaining ids have been carried over. @returns false if transactions were in the way */
export async function dropEpoch(
  sql: Sql,
  epoch: string,
  { patienceMs, pauseMs }: ChangePace,
): Promise<boolean> {
  const rows = await sql.query<object>(
    'select outbox.drop_processed($1::bigint, $2::integer, $3::integer) as dropped',
    [epoch, patienceMs, pauseMs],
  );
  return readRow(rows, { dropped: flagCell }).dropped;
}
