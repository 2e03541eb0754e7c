import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';

/** A failed try that is not reported yet. */
export interface UntoldTry {
  readonly id: string;
  readonly key: string | null;
  readonly attempt: number;
  readonly outcome: 'rejected' | 'ambiguous' | 'permanent';
  readonly error: string;
  /** Until the next try; 0 if it is due. `null`: none follows, the message has failed. */
  readonly retryInMs: number | null;
}

/** The tries of a lane that are not reported yet, as its row notes them. */
export interface UntoldRange {
  /** Ids of the first and the last one in `outbox.attempt`. Tries of other lanes lie between them. */
  readonly first: string;
  readonly last: string;
}

/**
 * @returns `undefined` if everything was reported, the lane has another owner, or its topic is being changed: then its messages may be in
 * another lane
 */
export async function untoldRange(
  sql: Sql,
  { topic, lane }: Lane,
  owner: string,
): Promise<UntoldRange | undefined> {
  const [range] = await sql.query<UntoldRange>(
    `select untold_from as first, untold_to as last from outbox.lane
     where topic = $1 and n = $2 and owner = $3 and untold_from is not null
       and not exists (select from outbox.topic_change c where c.topic = $1)`,
    [topic, lane, owner],
  );
  return range;
}

/** The failed tries of a lane within the range, in their order. A message may have been tried twice. */
export function readUntold(
  sql: Sql,
  { topic, lane }: Lane,
  { first, last }: UntoldRange,
): Promise<readonly UntoldTry[]> {
  return sql.query<UntoldTry>(
    `select m.id, m.key, a.outcome, coalesce(a.error, '') as error,
       greatest(m.attempts + 1 - row_number() over later, 1)::integer as attempt,
       case when m.state not in ('failed', 'superseded', 'discarded') or row_number() over later > 1
         then greatest(0, coalesce(ceil(extract(epoch from m.due_at - outbox.clock()) * 1000), 0))::float8 end as "retryInMs"
     from (select * from outbox.attempt t where t.id between $3 and $4 offset 0) a
     cross join lateral (select * from only outbox.message r where r.id = a.message_id and r.topic = $1 and r.lane = $2 offset 0) m
     where a.outcome <> 'acknowledged'
     window later as (partition by m.id order by a.id desc)
     order by a.id`,
    [topic, lane, first, last],
  );
}

/** Notes that all of the range was reported. Waits for no disk: what a crash forgets is reported once more. */
export async function noteTold(
  sql: Sql,
  { topic, lane }: Lane,
  owner: string,
  { first, last }: UntoldRange,
): Promise<void> {
  await sql.query(
    `update outbox.lane set untold_from = null, untold_to = null
     where topic = $1 and n = $2 and owner = $3 and untold_from = $4 and untold_to = $5
     returning set_config('synchronous_commit', 'off', true)`,
    [topic, lane, owner, first, last],
  );
}
