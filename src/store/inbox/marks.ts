import type { Sql } from '../database/database.ts';

/** A share of an address, as a group sees it. */
export interface MarkedPartition {
  readonly group: string;
  readonly address: string;
  readonly partition: number;
}

/** What a consumer has in hand of a partition. */
export interface Mark {
  /** UUID of the consumer. */
  readonly owner: string;
  /** How many messages. */
  readonly size: number;
  /** The last of them, or the only one. */
  readonly lastId: string;
  /** Of a single message: how often it was left unfinished. */
  readonly kills: number;
}

/** What is marked in a partition, by any consumer; `undefined`: everything that was begun has ended. */
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
 * Marks what is in hand from now on. It need not outlive a crash of the database, which asks for nothing but one more
 * search for a message that kills.
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

/** Who is frozen before it commits must not hold up the next owner. */
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
