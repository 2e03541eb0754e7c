import { rest } from '../../core/rest.ts';
import { numberCell, orNull, readRow } from '../database/answers.ts';
import type { Database, Sql } from '../database/database.ts';
import { dropEnded, dropFailed, type EndedCursor, type FailedEnd } from './ended.ts';
import { carryKept, carryLive, dropEpoch, mayChangeEpochs, readEpochs, rollEpoch } from './epochs.ts';

/** A group and how long it keeps its processed ids. */
export interface GroupWindow {
  readonly group: string;
  /** `Infinity`: forever. */
  readonly windowMs: number;
}

export interface KeepWindowInput {
  /** Minimum time that processed ids are kept, whatever window their groups have. `Infinity`: forever. */
  readonly windowMs: number;
  /** Failed messages to delete as well. @defaultValue none */
  readonly failed?: FailedEnd | undefined;
  readonly signal: AbortSignal;
  /** Called after every transaction. */
  readonly progress?: () => void;
  /** How long it may take. @defaultValue 60,000 */
  readonly withinMs?: number;
  /** Between two tries of a change of epochs in the whole database. @defaultValue 60,000 */
  readonly pauseMs?: number;
}

/** What was done with the processed ids of a database, and with messages that its consumers keep. */
export interface WindowUpkeep {
  /** True if a new epoch began. */
  readonly rolled: boolean;
  /** Ids of expired epochs that stay, because their messages are live or kept by a consumer. */
  readonly carried: number;
  /** Epochs that were dropped with all their ids. */
  readonly dropped: number;
  /** Deleted messages of consumers: superseded, discarded, and expired failed ones. */
  readonly deleted: number;
  /** False if something is left to do: handlers were in the way, another keeper was working, or the time was over. */
  readonly complete: boolean;
  /** How many tries to change epochs have failed since the change was due. */
  readonly failedTries: number;
}

const hourMs = 60 * 60_000;
/** How long each of two locks may block handlers at the first try. */
const patienceMs = 300;

/** Records that this group is alive, and its window; for {@link wholeDatabase}, the minimum window of all ids. */
export async function noteWindow(sql: Sql, { group, windowMs }: GroupWindow): Promise<void> {
  await sql.query(
    `with limited as materialized (select outbox.limit_idle())
     insert into outbox.consumer_group as g (consumer_group, window_ms, seen_at)
     select $1, $2::bigint, outbox.clock() from limited
     on conflict (consumer_group) do update set window_ms = excluded.window_ms, seen_at = excluded.seen_at`,
    [group, bigintOf(windowMs)],
  );
}

/**
 * Begins a new epoch of processed ids when it is due, and drops epochs that ended longer ago than the window. Before that,
 * deletes messages of consumers that were superseded or discarded longer ago than that; failed ones stay, for a person,
 * unless their group has a limit.
 *
 * The window is the longest of the given one and of those of groups that were seen within theirs. An epoch lasts a quarter
 * of it, but at least an hour, so that at most six exist: an id is kept for one to one and a quarter windows. Ids whose
 * messages are live in this database, or are kept by a consumer, stay as long as that is so. Any number of keepers may run
 * it concurrently.
 *
 * Handlers that begin at the wrong moment wait for up to 0.6 s, once a minute. After each try that fails, because a handler
 * was always running, the wait doubles, up to 10 s. While transactions take longer than that, nothing is dropped.
 *
 * A role that may not change epochs leaves them to the relay of this database.
 *
 * @throws OutboxError `OUTBOX_PRIVILEGE_MISSING` for such a role if no relay does it
 */
export async function keepWindow(
  database: Pick<Database, 'transaction'>,
  input: KeepWindowInput,
): Promise<WindowUpkeep> {
  const keeper = new Keeper(database, input);
  const failed = await keeper.dropFailed();
  const windowMs = await keeper.step((sql) => readWindow(sql, input.windowMs));
  if (windowMs === null) return { rolled: false, carried: 0, dropped: 0, ...failed, failedTries: 0 };
  const ended = await keeper.dropEnded(windowMs);
  const epochMs = Math.max(Math.ceil(windowMs / 4), hourMs);
  let rolled = false;
  let carried = 0;
  let dropped = 0;
  let failedTries = 0;
  let complete = ended.complete && failed.complete;
  const pace = { patienceMs, pauseMs: input.pauseMs ?? 60_000 };
  const epochs = await keeper.step(async (sql) => ((await mayChangeEpochs(sql)) ? readEpochs(sql) : []));
  for (const { epoch, current, ageMs, tries } of epochs) {
    const lateMs = ageMs - (current ? epochMs : windowMs);
    if (lateMs < 0) continue;
    if (current) {
      const answer = await keeper.step((sql) => rollEpoch(sql, epochMs, pace));
      rolled = answer === 'rolled';
      complete &&= answer !== 'busy';
      if (answer === 'busy') failedTries = Math.max(failedTries, tries);
    } else {
      const over = await keeper.carryOver(epoch);
      carried += over.carried;
      const gone = over.complete && (await keeper.step((sql) => dropEpoch(sql, epoch, pace)));
      dropped += gone ? 1 : 0;
      complete &&= gone;
      if (!gone) failedTries = Math.max(failedTries, tries);
    }
  }
  return { rolled, carried, dropped, deleted: ended.deleted + failed.deleted, complete, failedTries };
}

/** Runs the transactions of one call, one after the other. */
class Keeper {
  readonly #database: Pick<Database, 'transaction'>;
  readonly #input: KeepWindowInput;
  readonly #untilMs: number;

  constructor(database: Pick<Database, 'transaction'>, input: KeepWindowInput) {
    this.#database = database;
    this.#input = input;
    this.#untilMs = performance.now() + (input.withinMs ?? 60_000);
  }

  async step<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const result = await this.#database.transaction(work);
    this.#input.progress?.();
    return result;
  }

  /** A later call continues where this one ended. */
  async carryOver(epoch: string): Promise<{ readonly carried: number; readonly complete: boolean }> {
    let carried = 0;
    for (const carry of [carryLive, carryKept]) {
      const complete = await this.#walk(async () => {
        const page = await this.step((sql) => carry(sql, epoch));
        carried += page.carried;
        if (page.busy) return 'busy';
        return page.complete ? 'end' : 'more';
      });
      if (!complete) return { carried, complete };
    }
    return { carried, complete: true };
  }

  /** A later call starts over, and finds only what had to stay. */
  async dropEnded(ageMs: number): Promise<{ readonly deleted: number; readonly complete: boolean }> {
    let deleted = 0;
    let after: EndedCursor | null = null;
    const complete = await this.#walk(async () => {
      const page = await this.step((sql) => dropEnded(sql, ageMs, after));
      deleted += page.deleted;
      after = page.next;
      return page.next === null ? 'end' : 'more';
    });
    return { deleted, complete };
  }

  async dropFailed(): Promise<{ readonly deleted: number; readonly complete: boolean }> {
    const { failed } = this.#input;
    if (failed === undefined) return { deleted: 0, complete: true };
    let deleted = 0;
    const complete = await this.#walk(async () => {
      const page = await this.step((sql) => dropFailed(sql, failed));
      deleted += page.deleted;
      return page.more ? 'more' : 'end';
    });
    return { deleted, complete };
  }

  /** Runs page by page, and rests for as long as each took. @returns false if it did not reach the end */
  async #walk(page: () => Promise<'more' | 'end' | 'busy'>): Promise<boolean> {
    const { signal } = this.#input;
    while (!signal.aborted && performance.now() <= this.#untilMs) {
      const startedAt = performance.now();
      const answer = await page();
      if (answer !== 'more') return answer === 'end';
      await rest(performance.now() - startedAt, signal);
    }
    return false;
  }
}

/** The effective window; `null`: forever. */
async function readWindow(sql: Sql, leastMs: number): Promise<number | null> {
  const rows = await sql.query<object>(
    `select case when $1::bigint is null or coalesce(bool_or(g.window_ms is null), false) then null
       else greatest($1::bigint, max(g.window_ms)) end::float8 as "windowMs"
     from outbox.consumer_group g
     where g.window_ms is null or g.seen_at > outbox.clock() - g.window_ms * interval '1 ms'`,
    [bigintOf(leastMs)],
  );
  return readRow(rows, { windowMs: orNull(numberCell) }).windowMs;
}

/** As text, because clients differ in 64-bit numbers. */
function bigintOf(ms: number): string | null {
  return Number.isFinite(ms) ? String(Math.round(ms)) : null;
}
