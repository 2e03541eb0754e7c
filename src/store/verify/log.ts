import type { LogRange, LogRecord } from '../../core/delivery-log.ts';
import { uuid } from '../../core/uuid.ts';
import type { Sql } from '../database/database.ts';
import { readInstallationId } from '../installation/installation.ts';

// The log is copied into temporary tables of one transaction and compared with the rows by joins, whose memory the database
// bounds, however long the log is. Afterwards nothing of it is left.

/** A topic whose log can be read. */
export interface LoggedTopic {
  readonly topic: string;
  readonly address: string;
}

/**
 * Records how far every lane has come, before the log is opened: everything published by now must be in it.
 *
 * @returns the id of the installation
 */
export async function beginVerification(
  sql: Sql,
  topics: readonly LoggedTopic[],
  since: Date | null,
): Promise<string> {
  // Longer than for our other transactions: a broker may stall, and this transaction blocks no one.
  await sql.query(`set local idle_in_transaction_session_timeout = '5min'`);
  await sql.query(
    `create temporary table verify_record (address text collate "C", partition integer, "offset" bigint, at timestamptz,
       id uuid, given_id text, ours boolean, type text collate "C", key text collate "C", hash text) on commit drop`,
  );
  await sql.query(
    'create temporary table verify_lane on commit drop as select topic, n, cursor, snapshot, late_cursor, late_snapshot from outbox.lane',
  );
  // Rows that were created after `since` are checked; from then on the log is complete.
  await sql.query(
    'create temporary table verify_topic (topic text collate "C" primary key, address text collate "C", since timestamptz) on commit drop',
  );
  await sql.query(
    `insert into verify_topic select t.topic, t.address, coalesce($3::timestamptz, '-infinity')
     from unnest($1::text[], $2::text[]) as t(topic, address)`,
    [topics.map(({ topic }) => topic), topics.map(({ address }) => address), since],
  );
  return readInstallationId(sql);
}

/** Copies records into the temporary table. */
export async function addRecords(
  sql: Sql,
  installation: string,
  records: readonly LogRecord[],
): Promise<void> {
  if (records.length === 0) return;
  const source = `/outbox/${installation}`;
  await sql.query(
    `insert into verify_record
     select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::timestamptz[], $5::uuid[], $6::text[], $7::boolean[],
       $8::text[], $9::text[], $10::text[])`,
    [
      records.map(({ address }) => address),
      records.map(({ partition }) => partition),
      records.map(({ offset }) => offset),
      records.map(({ at }) => at.toISOString()),
      records.map(({ id }) => (id !== null && uuid.test(id) ? id : null)),
      records.map(({ id }) => storable(id)),
      records.map((record) => record.source === source),
      records.map(({ type }) => storable(type)),
      records.map(({ key }) => storable(key)),
      records.map(({ payloadHash }) => payloadHash),
    ],
  );
}

/** To be called after all records: indexes them, and finds the first record of each message. */
export async function endRecords(sql: Sql, ranges: readonly LogRange[]): Promise<void> {
  const truncated = ranges.filter((range) => range.truncated);
  // Missing messages may be among the records that were deleted before the first remaining one.
  await sql.query(
    `update verify_topic t set since = greatest(t.since, b.begins)
     from (select u.address, max(coalesce((select min(r.at) from verify_record r
           where r.address = u.address and r.partition = u.partition), 'infinity')) as begins
         from unnest($1::text[], $2::integer[]) as u(address, partition) group by u.address) b
     where b.address = t.address`,
    [truncated.map(({ address }) => address), truncated.map(({ partition }) => partition)],
  );
  await sql.query('create index on verify_record (id, partition, "offset")');
  await sql.query('analyze verify_record');
  // Within a partition the offset decides; only between partitions the time must.
  await sql.query(
    `create temporary table verify_first on commit drop as
     select distinct on (id) * from (
       select distinct on (id, address, partition) * from verify_record where id is not null
       order by id, address, partition, "offset") f
     order by id, at, address, partition`,
  );
  await sql.query('create index on verify_first (id)');
  await sql.query('analyze verify_first');
}

/** PostgreSQL stores no NUL. */
function storable(text: string | null): string | null {
  return text?.replaceAll('\u0000', '\uFFFD') ?? null;
}
