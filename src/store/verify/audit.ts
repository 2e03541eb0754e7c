import type { Sql } from '../database/database.ts';
import { countRows, type Finding, shownViolations, type Violation } from './finding.ts';

interface FoundRow extends Pick<Violation, 'what' | 'topic' | 'id'> {
  readonly total: number;
}

/** Each seal with the one before it and its entry, and what does not fit; then entries that have none. */
const broken = `
  with chain as (
    select s.position, s.audit_id, s.hash, lag(s.position, 1, 0::bigint) over w as before, lag(s.hash, 1, '') over w as hash_before
    from outbox.audit_seal s window w as (order by s.position)
  ), found as (
    select c.position, c.audit_id, a.topic, case
        when c.position <> c.before + 1 then 'Seals before that of this entry of the audit are missing.'
        when a.id is null then 'This entry of the audit was deleted.'
        when c.hash <> outbox.sha256(c.hash_before || outbox.sealed_text(a)) then 'This entry of the audit, or its seal, was changed.'
      end as what
    from chain c left join outbox.audit a on a.id = c.audit_id
    union all
    select null, a.id, a.topic, 'This entry of the audit was written without a seal.' from outbox.audit a
    where not exists (select from outbox.audit_seal s where s.audit_id = a.id)
  )
  select f.what, f.topic, f.audit_id::text as id, count(*) over ()::integer as total from found f
  where f.what is not null order by f.position, f.audit_id limit ${shownViolations}`;

/**
 * The audit is as it was written: the first broken entry comes first. Who may write seals can make all of them anew after a change,
 * and who deletes the last entries with their seals leaves no trace here.
 */
export async function verifyAudit(sql: Sql): Promise<Finding> {
  const rows = await sql.query<FoundRow>(broken);
  const checked = await countRows(sql, 'select count(*)::integer as count from outbox.audit');
  return {
    checked,
    violations: rows[0]?.total ?? 0,
    first: rows.map(({ id, topic, what }) => ({ what, topic, id, key: null })),
    notes: {},
  };
}
