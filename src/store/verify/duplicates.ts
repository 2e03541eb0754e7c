import type { Sql } from '../database/database.ts';
import { countRows, type Finding, findViolations } from './finding.ts';

/**
 * I11, duplicates: records of this installation after the first one of their message. Any fault may cause some, which the
 * inbox drops; they are a violation only above the given share of all records, 0 to 1.
 */
export async function verifyDuplicates(sql: Sql, maxShare: number | null): Promise<Finding> {
  const found = await findViolations(
    sql,
    `select format('%s of %s records are duplicates.', duplicates, records) as what, null as topic, address as id, null as key
     from (select address, count(*) as records, count(*) - count(distinct id) as duplicates
       from verify_record where ours and id is not null group by address) d
     where duplicates > records * $1::float8`,
    [maxShare],
  );
  const checked = await countRows(
    sql,
    'select count(*)::integer as count from verify_record where ours and id is not null',
  );
  const duplicates = await countRows(
    sql,
    'select (count(*) - count(distinct id))::integer as count from verify_record where ours and id is not null',
  );
  return { checked, ...found, notes: { duplicates } };
}
