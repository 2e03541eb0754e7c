import { flagCell, numberCell, readRows, textCell } from '../database/answers.ts';
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
  /** Ids of the messages. */
  readonly ids: readonly string[];
  /** For a single message: how often it was left unfinished. */
  readonly kills: number;
}

/** A message that another consumer had in hand and left unfinished: it may have killed that one. */
export interface Suspect {
  readonly id: string;
  /** How many consumers may have died of it. */
  readonly kills: number;
  /** Whether one of them had nothing else in hand. */
  readonly alone: boolean;
}

/** The mark need not survive a crash of the database: at worst the search for a message that kills takes one more round. */
const quick = `quick as materialized (select set_config('synchronous_commit', 'off', true), outbox.limit_idle())`;

const stored = `insert into outbox.mark (consumer_group, address, partition, owner, ids, kills)
  select $1, $2, $3, $4::uuid, array(select hashtext(id) from unnest($5::text[]) id), $6::integer from quick`;
const overwritten = `on conflict (consumer_group, address, partition, owner) do update set ids = excluded.ids,
  kills = excluded.kills, begun_at = excluded.begun_at`;

/**
 * Marks messages as in hand from now on, unless other consumers have left some of them unfinished: what is delivered here is no
 * longer theirs, whether they live or not.
 *
 * @returns those that others have left; if there are any, nothing is marked
 */
export async function markUnlessSuspect(
  sql: Sql,
  { group, address, partition }: MarkedPartition,
  { owner, ids, kills }: Mark,
): Promise<readonly Suspect[]> {
  const rows = await sql.query<object>(
    `with ${quick}, suspect as materialized (
       select given.id, max(case when cardinality(m.ids) = 1 then m.kills + 1 else 1 end) as kills,
         bool_or(cardinality(m.ids) = 1) as alone
       from quick, outbox.mark m, unnest(m.ids) hash join unnest($5::text[]) given (id) on hashtext(given.id) = hash
       where m.consumer_group = $1 and m.address = $2 and m.partition = $3 and m.owner <> $4::uuid
       group by given.id),
     noted as (${stored} where not exists (select from suspect) ${overwritten})
     select id, kills, alone from suspect`,
    [group, address, partition, owner, [...ids], kills],
  );
  return readRows(rows, { id: textCell, kills: numberCell, alone: flagCell });
}

/** Marks messages as in hand from now on. */
export async function setMark(
  sql: Sql,
  { group, address, partition }: MarkedPartition,
  { owner, ids, kills }: Mark,
): Promise<void> {
  await sql.query(`with ${quick} ${stored} ${overwritten}`, [
    group,
    address,
    partition,
    owner,
    [...ids],
    kills,
  ]);
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

/** Deletes the marks of consumers that died, or have had nothing to do, for a day. */
export async function clearOldMarks(sql: Sql, group: string): Promise<void> {
  await sql.query(
    `${limited} delete from outbox.mark using limited
     where consumer_group = $1 and begun_at < clock_timestamp() - interval '1 day'`,
    [group],
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
