import type { Sql } from '../database/database.ts';
import { countRows, type Finding, findViolations } from './finding.ts';

/** Records of this installation, each with the row that it must belong to. */
const compared = `
  from verify_record r
  left join lateral (
    select a.topic, a.key, a.payload, a.state, a.expunged_at from outbox.message_all a where a.id = r.id limit 1) m on true
  where r.ours`;

/**
 * Time before which the history may have been dropped: what was dropped had been archived by then. Not when a leaf was opened, because
 * messages of the leaves before it may be published later. Null: nothing was ever archived.
 */
const forgotten = `
  select greatest((select max(f.dropped_to) from outbox.leaf f), min((regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''([^'']+)''\\)'))[1]::timestamptz)) as before
  from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'outbox.message_history'::regclass`;

/**
 * I2, no ghost: every record of this installation belongs to a row, live or archived, with the same payload, key and
 * topic. Of an expunged message the payload is not known. A record older than the history that is kept, and without a row, cannot be judged.
 */
export async function verifyGhosts(sql: Sql): Promise<Finding> {
  const tooOld = `m.topic is null and r.at < coalesce((select before from (${forgotten}) f), '-infinity')`;
  const found = await findViolations(
    sql,
    `select * from (
       select case
           when r.id is null then format('The record %s: %s/%s has no id of a message.', r.address, r.partition, r."offset")
           when m.topic is null then 'No row has this id.'
           when m.topic is distinct from r.type then format('The record says the topic %s.', r.type)
           when not exists (select from verify_topic t where t.topic = m.topic and t.address = r.address)
             then format('The record lies in %s.', r.address)
           when m.key is distinct from r.key then 'The record has another key.'
           when m.expunged_at is null and encode(sha256(convert_to(m.payload, 'UTF8')), 'hex') <> r.hash then 'The record has another payload.'
         end as what, coalesce(m.topic, r.type) as topic, coalesce(r.id::text, r.given_id) as id, r.key
       ${compared} and not (${tooOld})) x
     where what is not null`,
  );
  const [checked, notJudged, foreign] = [
    await countRows(sql, 'select count(*)::integer as count from verify_record where ours'),
    await countRows(sql, `select count(*)::integer as count ${compared} and ${tooOld}`),
    await countRows(sql, 'select count(*)::integer as count from verify_record where not ours'),
  ];
  return { checked, ...found, notes: { foreign, notJudged } };
}

/** I5: canceled messages are not in the log. The only exception: a relay that was frozen while sending, beyond its lease. */
export async function verifyCanceled(sql: Sql): Promise<Finding> {
  const found = await findViolations(
    sql,
    `select 'Canceled, and in the log.' as what, m.topic, m.id, m.key from outbox.message_all m
     where m.state = 'canceled' and exists (select from verify_first f where f.id = m.id)`,
  );
  const checked = await countRows(
    sql,
    `select count(*)::integer as count from outbox.message_all where state = 'canceled'`,
  );
  return { checked, ...found, notes: {} };
}
