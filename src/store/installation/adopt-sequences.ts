import type { Sql } from '../database/database.ts';

/**
 * Raises every sequence of the schema above the values in its columns. Native logical replication copies rows, not sequences:
 * new messages would precede all existing ones, and new ids would collide with old ones.
 */
export async function raiseSequences(sql: Sql): Promise<void> {
  const feeding = await sql.query<{ sequence: string; table: string; column: string }>(
    `select s.oid::regclass::text as sequence, a.attrelid::regclass::text as "table", quote_ident(a.attname) as "column"
     from pg_class s
       join lateral (
         -- An identity column or serial owns its sequence; another default only names it.
         select d.refobjid as relation, d.refobjsubid as n from pg_depend d
         where d.classid = 'pg_class'::regclass and d.objid = s.oid and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0
         union
         select f.adrelid, f.adnum from pg_depend d join pg_attrdef f on f.oid = d.objid
         where d.classid = 'pg_attrdef'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = s.oid
       ) fed on true
       join pg_attribute a on a.attrelid = fed.relation and a.attnum = fed.n
     where s.relkind = 'S' and s.relnamespace = 'outbox'::regnamespace`,
  );
  // Positions are also in the history, and messages that a lane has passed may be in neither table any more.
  const positions = [
    ['outbox.message_history', 'position'],
    ['outbox.batch', 'last_position'],
    ['outbox.lane', 'cursor'],
  ].map(([table = '', column = '']) => ({ sequence: 'outbox.message_position', table, column }));
  for (const { sequence, table, column } of [...feeding, ...positions])
    await raise(sql, sequence, table, column);
}

async function raise(sql: Sql, sequence: string, table: string, column: string): Promise<void> {
  await sql.query(
    `select setval('${sequence}', m.greatest)
     from (select max(${column})::bigint as greatest from ${table}) m, ${sequence} s
     where m.greatest > s.last_value or m.greatest = s.last_value and not s.is_called`,
  );
}
