import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';
import { type Changed, cancelLocked, type LockedMessage, type MessageChange } from './change.ts';
import { takeOut } from './take-out.ts';

/**
 * Withdraws messages without owning their lane: waiting, retrying and blocked ones are canceled. Ready ones that are unpublished
 * according to their rows are deferred: only the owner of the lane can be certain.
 */
export const withdrawWaiting: MessageChange<'canceled'> = {
  action: 'withdraw',
  apply: async (sql, rows) => {
    const ready = rows.filter(({ state }) => state === 'ready');
    const [canceled, deferred] = [
      await cancelLocked(sql, except(rows, ready)),
      await readUnpublished(sql, ready),
    ];
    return [...canceled, ...deferred.map(({ id }) => ({ id, result: 'defer' }) as const)];
  },
};

/**
 * Withdraws messages of one lane, as its owner. Messages of other lanes are deferred, and so are all if the lane has another
 * owner now.
 *
 * A ready message is canceled if its lane has not passed it, no answer of a broker was ambiguous about it, and no dead owner
 * can have seen it.
 *
 * @param seize takes the lane from its owner, in a dry run: what would happen if a living owner freed it now
 */
export function withdrawAsOwner(
  { topic, lane }: Lane,
  owner: string,
  seize: boolean,
): MessageChange<'canceled'> {
  let owned = false;
  return {
    action: 'withdraw',
    // Locks the lane before its messages, like a settle; no one can take it before this transaction has ended.
    before: async (sql) => {
      if (seize) await seizeLane(sql, { topic, lane }, owner);
      const rows = await sql.query(
        'select from outbox.lane l where topic = $1 and n = $2 and outbox.lane_owned(l, $3) for update',
        [topic, lane, owner],
      );
      owned = rows.length > 0;
    },
    apply: async (sql, rows) => {
      const here = owned ? rows.filter((row) => row.topic === topic && row.lane === lane) : [];
      const ready = here.filter(({ state }) => state === 'ready');
      return [
        ...except(rows, here).map(({ id }) => ({ id, result: 'defer' }) as const),
        ...(await cancelLocked(sql, except(here, ready))),
        ...(await cancelReady(sql, ready, owner)),
      ];
    },
  };
}

/** Creates a lane: a topic that no relay has announced has none that could be owned. */
export async function makeLane(sql: Sql, { topic, lane }: Lane): Promise<void> {
  await sql.query('insert into outbox.lane (topic, n) values ($1, $2) on conflict do nothing', [topic, lane]);
}

/** As a free lane is taken: what a dead owner may have published is marked. */
async function seizeLane(sql: Sql, lane: Lane, owner: string): Promise<void> {
  await makeLane(sql, lane);
  await sql.query(
    `update outbox.lane l set owner = $3, session = null, incarnation = outbox.incarnation(),
       suspect = case when not outbox.lane_taken(l) and (l.owner is not null or l.incarnation <> outbox.incarnation())
         then pg_current_snapshot() else l.suspect end
     where topic = $1 and n = $2`,
    [lane.topic, lane.lane, owner],
  );
}

function except(rows: readonly LockedMessage[], others: readonly LockedMessage[]): readonly LockedMessage[] {
  return rows.filter((row) => !others.includes(row));
}

async function readUnpublished(
  sql: Sql,
  rows: readonly LockedMessage[],
): Promise<readonly { readonly id: string }[]> {
  return sql.query(
    `select v.id from outbox.message_view v where v.id = any($1::uuid[]) and v.state::text = 'ready' and not v.maybe_published`,
    [rows.map(({ id }) => id)],
  );
}

async function cancelReady(
  sql: Sql,
  rows: readonly LockedMessage[],
  owner: string,
): Promise<readonly Changed<'canceled'>[]> {
  await takeOut(
    sql,
    rows.map(({ id }) => id),
  );
  return sql.query<Changed<'canceled'>>(
    `update only outbox.message m set state = 'canceled', xid = pg_current_xact_id(), updated_at = outbox.clock()
     from outbox.lane l
     where m.id = any($1::uuid[]) and m.state::text = 'ready' and not m.maybe_published
       and l.topic = m.topic and l.n = m.lane and l.owner = $2
       and not outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)
       and not coalesce(pg_visible_in_snapshot(m.xid, l.suspect), false)
     returning m.id, 'canceled' as result`,
    [rows.map(({ id }) => id), owner],
  );
}
