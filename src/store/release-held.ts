import type { Lane } from '../core/lane.ts';
import type { Sql } from './database.ts';

/**
 * Makes held messages ready whose key has no blocking message before them any more, in order and key by key.
 *
 * Only the owner of the lane calls this, before a claim. A row that a transaction has locked (a cancel that is not
 * committed yet) stays held together with its followers.
 *
 * @returns whether held messages were there: the caller need not ask again before it holds one itself.
 */
export async function releaseHeld(
  sql: Sql,
  { topic, lane }: Lane,
  failedBlocks: boolean,
): Promise<{ held: boolean; released: number }> {
  const [row] = await sql.query<{ held: boolean; released: number }>(
    `with free as materialized (
       select h.id, h.key, h.position from outbox.message h
       where h.topic = $1 and h.lane = $2 and h.state = 'held'
         and not exists (select from outbox.message r where r.topic = $1 and r.lane = $2 and r.key = h.key
           and r.state in ('retrying', 'failed') and (r.state <> 'failed' or $3) and r.position < h.position)
       for update skip locked
     ), released as (
       update outbox.message m set state = 'ready', xid = pg_current_xact_id(), updated_at = outbox.clock()
       from free f
       where m.id = f.id
         and not exists (select from outbox.message o where o.topic = $1 and o.lane = $2 and o.key = f.key
           and o.state = 'held' and o.position < f.position and o.id not in (select id from free))
       returning 1
     )
     select exists (select from outbox.message where topic = $1 and lane = $2 and state = 'held') as held,
       (select count(*)::integer from released) as released`,
    [topic, lane, failedBlocks],
  );
  return row ?? { held: false, released: 0 };
}
