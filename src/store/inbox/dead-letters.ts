import { numberCell, orNull, readRows, textCell } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

/** A failed message without a copy at the dead-letter address. */
export interface UncopiedMessage {
  readonly id: string;
  /** Its position among the kept messages; a string, because it exceeds JavaScript's numbers. */
  readonly position: string;
  readonly topic: string;
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
  readonly wire: string;
  /** In base64; `null`: it has no body. */
  readonly body: string | null;
  readonly reason: string;
  readonly error: string | null;
  readonly attempts: number;
}

const uncopied = {
  id: textCell,
  position: textCell,
  topic: textCell,
  address: textCell,
  partition: numberCell,
  offset: textCell,
  wire: textCell,
  body: orNull(textCell),
  reason: textCell,
  error: orNull(textCell),
  attempts: numberCell,
};

/**
 * Failed messages that arrived at these addresses and were not copied, in their order.
 *
 * @param after only those after this position; `0`: from the first one
 */
export async function readUncopied(
  sql: Sql,
  group: string,
  addresses: readonly string[],
  after: string,
  limit: number,
): Promise<readonly UncopiedMessage[]> {
  const rows = await sql.query<object>(
    `select message_id as id, p.position::text as position, topic, address, partition, "offset", wire,
       encode(body, 'base64') as body, coalesce(reason, 'error') as reason, last_error as error, attempts
     from outbox.parked p
     where consumer_group = $1 and state = 'failed' and copied_at is null and address = any($2::text[])
       and p.position > $3::bigint
     order by p.position limit $4`,
    [group, addresses, after, limit],
  );
  return readRows(rows, uncopied);
}

/**
 * Takes or extends the turn of copying the failed messages of a group. A turn of another that ends later than one can last is
 * from before the clock was set back, and counts as over.
 *
 * @param owner UUID of the caller
 * @param ms how long a turn lasts, about the same for all
 * @returns false while another consumer has it
 */
export async function takeLetterTurn(sql: Sql, group: string, owner: string, ms: number): Promise<boolean> {
  const rows = await sql.query(
    `with limited as materialized (select outbox.limit_idle())
     insert into outbox.letter_turn as t (consumer_group, owner, ends_at)
     select $1, $2::uuid, clock_timestamp() + $3 * interval '1 ms' from limited
     on conflict (consumer_group) do update set owner = excluded.owner, ends_at = excluded.ends_at
     where t.owner = excluded.owner
       or t.ends_at not between clock_timestamp() and clock_timestamp() + $3 * interval '2 ms'
     returning 1`,
    [group, owner, ms],
  );
  return rows.length > 0;
}

/** Ends the turn of this owner, if it has it. */
export async function endLetterTurn(sql: Sql, group: string, owner: string): Promise<void> {
  await sql.query(
    `with limited as materialized (select outbox.limit_idle())
     delete from outbox.letter_turn t using limited where t.consumer_group = $1 and t.owner = $2::uuid`,
    [group, owner],
  );
}

/** Records that these messages have a copy. */
export async function markCopied(sql: Sql, group: string, ids: readonly string[]): Promise<void> {
  await sql.query(
    `with limited as materialized (select outbox.limit_idle())
     update outbox.parked set copied_at = outbox.clock() from limited
     where consumer_group = $1 and message_id = any($2::text[])`,
    [group, ids],
  );
}
