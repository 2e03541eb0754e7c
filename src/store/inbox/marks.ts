import type { Sql } from '../database/database.ts';

/** A partition of an address, for one group. */
export interface MarkedPartition {
  readonly group: string;
  readonly address: string;
  readonly partition: number;
}

/** What a consumer has in hand of a partition. */
export interface Mark {
  /** UUID of the consumer. */
  readonly owner: string;
  /** Number of messages. */
  readonly size: number;
  /** Id of the last one. */
  readonly lastId: string;
  /** For a single message: how often it was left unfinished. */
  readonly kills: number;
}

/** The mark of a partition, of any consumer; `undefined`: everything that was begun has ended. */
export async function readMark(
  sql: Sql,
  { group, address, partition }: MarkedPartition,
): Promise<Mark | undefined> {
  const [row] = await sql.query<Mark>(
    `select owner, size, last_id as "lastId", kills from outbox.mark
     where consumer_group = $1 and address = $2 and partition = $3`,
    [group, address, partition],
  );
  return row;
}

/**
 * Marks what is in hand from now on. The mark need not survive a crash of the database: at worst the search for a message that
 * kills takes one more round.
 */
export async function setMark(
  sql: Sql,
  { group, address, partition }: MarkedPartition,
  { owner, size, lastId, kills }: Mark,
): Promise<void> {
  await sql.query(
    `with quick as materialized (select set_config('synchronous_commit', 'off', true), outbox.limit_idle())
     insert into outbox.mark (consumer_group, address, partition, owner, size, last_id, kills)
     select $1, $2, $3, $4::uuid, $5, $6, $7 from quick
     on conflict (consumer_group, address, partition) do update set owner = excluded.owner, size = excluded.size,
       last_id = excluded.last_id, kills = excluded.kills, begun_at = excluded.begun_at`,
    [group, address, partition, owner, size, lastId, kills],
  );
}

/** A consumer that is frozen before the commit must not block the next owner. */
const limited = 'with limited as materialized (select outbox.limit_idle())';

/** Everything that this consumer had in hand has ended. */
export async function clearMarks(sql: Sql, group: string, owner: string): Promise<void> {
  await sql.query(
    `${limited} delete from outbox.mark using limited where consumer_group = $1 and owner = $2::uuid`,
    [group, owner],
  );
}

/** What this consumer had in hand of one partition has ended. */
export async function clearMark(
  sql: Sql,
  { group, address, partition }: MarkedPartition,
  owner: string,
): Promise<void> {
  await sql.query(
    `${limited} delete from outbox.mark using limited
     where consumer_group = $1 and address = $2 and partition = $3 and owner = $4::uuid`,
    [group, address, partition, owner],
  );
}
