import type { State } from '../../core/transitions.ts';
import type { Change } from '../audit/audit.ts';
import type { Sql } from '../database/database.ts';

/** A row that the current transaction has locked. */
export interface LockedMessage {
  readonly id: string;
  readonly topic: string;
  readonly lane: number;
  /** The stored state: a `ready` row may be published. */
  readonly state: State;
  readonly attempts: number;
  readonly sends: number;
}

/** The result of a change for one locked row. */
export interface Changed<Result extends string> {
  readonly id: string;
  /** `defer`: not decided here; nothing was written, and nothing is audited. */
  readonly result: Result | 'defer';
  readonly details?: Readonly<Record<string, unknown>>;
}

/** One kind of change by an operator. */
export interface MessageChange<Result extends string> {
  /** Its name in the audit. */
  readonly action: string;
  /** True: also changes messages in the history. @defaultValue false */
  readonly archivedToo?: boolean;
  /** Runs before rows are locked, for locks that must be taken first. */
  readonly before?: (sql: Sql) => Promise<void>;
  /** A compare-and-set on locked rows. Rows that it does not return are answered `too-late`. */
  readonly apply: (sql: Sql, rows: readonly LockedMessage[]) => Promise<readonly Changed<Result>[]>;
}

/**
 * - `too-late`: its state does not, or no longer, allow the change.
 * - `unknown`: no such message.
 * - `busy`: another transaction has locked it, or a relay is sending it; nothing was done.
 */
export type ChangeRefusal = 'too-late' | 'unknown' | 'busy';

/** The result for one message. */
export interface MessageAnswer<Result extends string = never> {
  /** UUID of the message, as given. */
  readonly id: string;
  /** Name of its topic; `null`: there is no such message. */
  readonly topic: string | null;
  /** Number of its lane, from 0; `null`: there is no such message. */
  readonly lane: number | null;
  /** What was done, or why nothing was. */
  readonly result: Result | ChangeRefusal;
  /** The state that operators see afterwards; `null`: there is no such message. */
  readonly state: State | null;
}

interface Standing {
  readonly id: string;
  readonly topic: string;
  readonly lane: number;
  readonly state: State;
  readonly archived: boolean;
}

/** The change of the messages with given ids: rows that others have locked are skipped. */
export function outboxChange<Result extends string>({
  action,
  archivedToo = false,
  before,
  apply,
}: MessageChange<Result>): Change<MessageAnswer<Result>> {
  return {
    action,
    group: null,
    async decide(sql, ids) {
      await before?.(sql);
      const locked = await lockMessages(sql, ids, archivedToo ? everywhere : live);
      const changed = new Map((await apply(sql, locked)).map((each) => [each.id, each]));
      const standing = new Map((await readStanding(sql, ids)).map((each) => [each.id, each]));
      const lockedIds = new Set(locked.map(({ id }) => id));
      return ids.map((id) => {
        const { result, details } = changed.get(id) ?? {};
        const there = standing.get(id);
        const lockable = there !== undefined && (archivedToo || !there.archived);
        const isBusy = lockable && !lockedIds.has(id);
        const { topic = null, lane = null, state = null } = there ?? {};
        const answer = (said: Result | ChangeRefusal) => ({ id, topic, lane, state, result: said });
        if (result === 'defer') return { answer: answer('busy'), open: 'deferred' };
        if (result !== undefined) return { answer: answer(result), details };
        if (isBusy) return { answer: answer('busy'), open: 'busy' };
        return { answer: answer(there === undefined ? 'unknown' : 'too-late') };
      });
    },
  };
}

const live = ['outbox.message'] as const;
/** The tables that have messages, with their children, in the order in which messages move. */
export const everywhere = [...live, 'outbox.log_history', 'outbox.message_history'] as const;

/** Locks rows in the order of ids, and skips rows that others have locked. */
async function lockMessages(
  sql: Sql,
  ids: readonly string[],
  tables: readonly string[],
): Promise<readonly LockedMessage[]> {
  const locked: LockedMessage[] = [];
  for (const table of tables)
    locked.push(
      ...(await sql.query<LockedMessage>(
        `select m.id, m.topic, m.lane, m.state::text as state, m.attempts, m.sends
         from ${table} m where m.id = any($1::uuid[]) order by m.id for update skip locked`,
        [[...ids]],
      )),
    );
  return locked;
}

async function readStanding(sql: Sql, ids: readonly string[]): Promise<readonly Standing[]> {
  return sql.query<Standing>(
    `select a.id, a.topic, a.lane, a.state::text as state, a.archived_at is not null as archived
     from outbox.message_all a where a.id = any($1::uuid[])`,
    [[...ids]],
  );
}

/** Cancels waiting, retrying and blocked messages, like `cancel` in a transaction. */
export const cancelChange: MessageChange<'canceled'> = { action: 'cancel', apply: cancelLocked };

/** Answers `canceled` also for messages that were already canceled. */
export async function cancelLocked(
  sql: Sql,
  rows: readonly LockedMessage[],
): Promise<readonly Changed<'canceled'>[]> {
  return sql.query<Changed<'canceled'>>(
    `select x.id, 'canceled' as result
     from unnest($1::uuid[], $2::text[]) as x(id, topic) where outbox.cancel(x.topic, null, x.id) = 'canceled'`,
    [rows.map(({ id }) => id), rows.map(({ topic }) => topic)],
  );
}

/** Ends failed messages for good. Keys that they blocked (`exhausted: 'block-key'`) are free again. */
export const discardChange: MessageChange<'discarded'> = {
  action: 'discard',
  apply: async (sql, rows) => {
    const changed = await sql.query<{ id: string }>(
      `update only outbox.message m set state = 'discarded', updated_at = outbox.clock()
       where m.id = any($1::uuid[]) and m.state::text = 'failed' returning m.id`,
      [rows.map(({ id }) => id)],
    );
    const attempts = new Map(rows.map((row) => [row.id, row.attempts]));
    return changed.map(({ id }) => ({ id, result: 'discarded', details: { attempts: attempts.get(id) } }));
  },
};

/**
 * Makes failed and retrying messages ready now.
 *
 * They keep their positions, so they go before the later messages of their keys that are blocked behind them, and get new
 * transaction ids, so that the next claim reads them although the cursor has passed them. The tries of a failed message
 * start again; their number so far is in the audit. A message that may have been published stays marked. One that was not
 * published by its expiry is refused after it, as `expired`: its lane would end it unsent.
 */
export const retryChange: MessageChange<'retried' | 'expired'> = {
  action: 'retry',
  apply: async (sql, rows) => {
    const ids = rows.map(({ id }) => id);
    const expired = await sql.query<{ id: string }>(
      `select m.id from only outbox.message m where m.id = any($1::uuid[]) and m.state::text in ('failed', 'retrying')
         and m.expires_at <= outbox.clock() and m.published_at is null`,
      [ids],
    );
    const over = new Set(expired.map(({ id }) => id));
    const changed = await sql.query<{ id: string }>(
      `update only outbox.message m set state = 'ready', xid = pg_current_xact_id(), updated_at = outbox.clock(),
         attempts = case when m.state::text = 'failed' then 0 else m.attempts end,
         sends = case when m.state::text = 'failed' then 0 else m.sends end,
         due_at = least(m.due_at, outbox.clock())
       where m.id = any($1::uuid[]) and m.state::text in ('failed', 'retrying')
       returning m.id`,
      [ids.filter((id) => !over.has(id))],
    );
    const before = new Map(rows.map((row) => [row.id, row]));
    const retried = changed.map(({ id }) => {
      const { state: from, attempts, sends } = before.get(id) ?? {};
      return { id, result: 'retried', details: { from, attempts, sends } } as const;
    });
    return [...expired.map(({ id }) => ({ id, result: 'expired' }) as const), ...retried];
  },
};
