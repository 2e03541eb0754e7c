import type { Lane } from '../core/lane.ts';
import type { Sql } from './database.ts';

/** A row of the outbox, as its lane publishes it. */
export interface ClaimedMessage {
  readonly id: string;
  readonly position: string;
  readonly key: string | null;
  readonly payload: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly workflowId: string;
  /** True when the row has a workflow of its own, which waits for the outcome. */
  readonly ownWorkflow: boolean;
  readonly attempts: number;
  readonly createdAt: Date;
  /** True when it must not be sent: a retrying, held or blocking failed message of its key comes before it. */
  readonly blocked: boolean;
  /** True when an owner that died may have published it already. */
  readonly suspect: boolean;
}

export interface Claim {
  /** What the claim saw; the next claim reads what this one could not see. */
  readonly snapshot: string;
  /** False: the lane belongs to somebody else, and there are no messages. */
  readonly owned: boolean;
  /** True when rows were left behind by one of the limits. */
  readonly truncated: boolean;
  /** In order of position. */
  readonly messages: readonly ClaimedMessage[];
}

export interface ClaimRequest {
  readonly owner: string;
  readonly cursor: string;
  /** The snapshot that belongs to the cursor; null only while nothing was ever claimed. */
  readonly snapshot: string | null;
  readonly limit: number;
  /** Bound of the payloads together; a larger single message is claimed alone. */
  readonly bytes: number;
  /** Does a failed message block its key (`exhausted: 'hold-key'`)? */
  readonly failedBlocks: boolean;
  /** Rows visible in this snapshot may have been published by an owner that died. */
  readonly suspect: string | null;
}

// Why three branches and `position + 0`: an OR, or a late branch that walks the position index, costs 40 to 90 ms per
// claim at a million rows instead of half a millisecond. And why the transactions that were running are joined one by
// one: as `= any(…)` they become a filter over the whole lane while the table has not been analyzed yet, 16 ms at
// 60,000 rows. The plan test holds each branch to its index.
// Why one statement: what is claimable, who owns the lane and which keys are blocked must be seen by one snapshot.
export const claimSql = `
  with own as materialized (
    select exists (select from outbox.lane l where l.topic = $1 and l.n = $2 and l.owner = $6) as mine
  )
  select pg_current_snapshot()::text as snapshot,
    (select mine from own) as owned,
    coalesce(x.found = $3 or x.found > count(x.id) over (), false) as truncated,
    x.id, x.position, x.key, x.payload, x.content_type as "contentType", x.headers, x.workflow_id as "workflowId",
    right(x.workflow_id, 45) = '/message/' || x.id::text as "ownWorkflow",
    x.attempts, x.created_at as "createdAt",
    coalesce(pg_visible_in_snapshot(x.xid, $9::pg_snapshot), false) as suspect,
    case when (select exists (select from outbox.message b where b.topic = $1 and b.lane = $2
        and b.state in ('retrying', 'held', 'failed') and (b.state <> 'failed' or $8)))
      then exists (select from outbox.message o where o.topic = $1 and o.lane = $2 and o.key = x.key
        and o.state in ('retrying', 'held', 'failed') and (o.state <> 'failed' or $8) and o.position < x.position)
      else false end as blocked
  from (select 1) one left join (
    select * from (
      select u.*, count(*) over () as found, sum(octet_length(u.payload)) over (order by u.position) - octet_length(u.payload) as before
      from (
        (select m.* from outbox.message m where m.topic = $1 and m.lane = $2 and m.state = 'ready' and m.position > $4
           and (select mine from own)
         order by m.position limit $3)
        union all
        (select m.* from outbox.message m where m.topic = $1 and m.lane = $2 and m.state = 'ready' and m.position + 0 <= $4
           and m.xid >= pg_snapshot_xmax($5::pg_snapshot)
           and (select mine from own))
        union all
        (select m.* from pg_snapshot_xip($5::pg_snapshot) running (xid) cross join lateral (
           select * from outbox.message r where r.topic = $1 and r.lane = $2 and r.state = 'ready' and r.xid = running.xid
             and r.position + 0 <= $4 offset 0) m
         where (select mine from own))
        order by position limit $3
      ) u
    ) v where v.before < $7
  ) x on true
  order by x.position`;

type ClaimRow = Omit<Claim, 'messages'> & {
  readonly [Field in keyof ClaimedMessage]: ClaimedMessage[Field] | null;
};

/** Reads the next messages of a lane that the owner has not published yet. Writes nothing. */
export async function claim(sql: Sql, { topic, lane }: Lane, request: ClaimRequest): Promise<Claim> {
  const { limit, cursor, snapshot, owner, bytes, failedBlocks, suspect } = request;
  const rows = await sql.query<ClaimRow>(claimSql, [
    topic,
    lane,
    limit,
    cursor,
    snapshot,
    owner,
    bytes,
    failedBlocks,
    suspect,
  ]);
  const [first] = rows;
  if (first === undefined) throw new Error('A claim answers at least one row.');
  const empty = first.id === null;
  return {
    snapshot: first.snapshot,
    owned: first.owned,
    truncated: first.truncated,
    messages: empty ? [] : (rows as unknown as readonly ClaimedMessage[]),
  };
}
