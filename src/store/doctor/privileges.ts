import type { Sql } from '../database/database.ts';
import { consumerTables, senderTables } from './role-tables.ts';

/** A role and what it may not do in the schema `outbox`. */
export interface RoleFacts {
  readonly role: string;
  /** It may insert messages, so it was meant to send. */
  readonly sends: boolean;
  /** It may insert processed ids, so it was meant to consume. */
  readonly consumes: boolean;
  /** What a sender needs and this role lacks, such as `select on outbox.topic`. */
  readonly lacksToSend: readonly string[];
  /** What a consumer needs and this role lacks, without {@link RoleFacts.mayKeepIds}. */
  readonly lacksToConsume: readonly string[];
  /** It may begin and drop the tables of processed ids. */
  readonly mayKeepIds: boolean;
}

/** What the role of this connection may do. */
export interface OwnerFacts {
  readonly role: string;
  readonly owner: string;
  /** It has the rights of the owner of the schema. */
  readonly owns: boolean;
  /** Tables, views and sequences of the schema whose owner's rights it lacks; if it does not own the schema, those that the owner lacks. */
  readonly foreign: readonly string[];
  /** Tables and views of the schema that it may not read. */
  readonly unread: readonly string[];
  /** It may pause a transport, so it was meant to operate. */
  readonly operates: boolean;
}

/**
 * What a role needs, in rows of `what` (for a GRANT) and `has`. Partitions and leaves are left out: whoever uses their table needs
 * no right to them, but a sender to the current leaf, in which its messages are inserted by name. An operator may insert messages, too,
 * but is known by its right to pause a transport, and by what a consumer may and it may not. The `case` is for the planner, which may ask about a relation before it filters them.
 */
const needs = `
  select 'usage on schema outbox' as what, has_schema_privilege(r.oid, 'outbox', 'usage') as has, true as send, true as consume
  union all
  select kind || ' on outbox.' || c.relname, has_table_privilege(r.oid, c.oid, kind),
    c.relname = any ($2::text[]) or c.relname = any ($1::text[]) and kind = 'select',
    c.relname = any ($4::text[]) or c.relname = any ($3::text[]) and kind = 'select'
  from pg_class c cross join unnest(array['select', 'insert', 'update', 'delete']) as kind
  where c.relnamespace = 'outbox'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
  union all
  select kind || ' on outbox.log_' || f.n, has_table_privilege(r.oid, 'outbox.log_' || f.n, kind), true, false
  from outbox.leaf f cross join unnest(array['select', 'insert']) as kind where f.closed_at is null
  union all
  select 'select (' || a.attname || ') on outbox.' || c.relname, has_column_privilege(r.oid, c.oid, a.attnum, 'select'), false, true
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = 'outbox'::regnamespace and c.relname in ('message', 'log') and a.attname in ('id', 'created_at', 'position', 'xid')
  union all
  select 'update on outbox.' || name, has_table_privilege(r.oid, 'outbox.' || name, 'update'), false, true
  from unnest(array['bulk_operation', 'processed_epoch']) as name
  union all
  select 'insert on outbox.audit', has_table_privilege(r.oid, 'outbox.audit', 'insert'), false, true
  union all
  select 'usage on sequence outbox.' || c.relname, case when c.relkind = 'S' then has_sequence_privilege(r.oid, c.oid, 'usage') end, true, false
  from pg_class c where c.relnamespace = 'outbox'::regnamespace and c.relname = 'message_position'
  union all
  select 'execute on function outbox.' || p.proname, has_function_privilege(r.oid, p.oid, 'execute'), true, true
  from pg_proc p where p.pronamespace = 'outbox'::regnamespace and not p.prosecdef`;

/** Roles that were granted something in the schema and neither own it nor are superusers, and what these lack. */
export async function readRoleFacts(sql: Sql): Promise<readonly RoleFacts[]> {
  return sql.query<RoleFacts>(
    `with granted as (
       select distinct g.grantee as oid from pg_namespace n cross join lateral aclexplode(n.nspacl) g
       where n.nspname = 'outbox' and g.grantee not in (0, n.nspowner)
       union
       select g.grantee from pg_class c cross join lateral aclexplode(c.relacl) g
       where c.oid in ('outbox.message'::regclass, 'outbox.processed'::regclass) and g.grantee not in (0, c.relowner)
     )
     select r.rolname as role,
       has_table_privilege(r.oid, 'outbox.message', 'insert') and not operates as sends,
       has_table_privilege(r.oid, 'outbox.processed', 'insert') and not operates as consumes,
       array(select what from (${needs}) need where send and not has order by 1) as "lacksToSend",
       array(select what from (${needs}) need where consume and not has order by 1) as "lacksToConsume",
       (select bool_and(has_function_privilege(r.oid, p.oid, 'execute')) from pg_proc p
         where p.pronamespace = 'outbox'::regnamespace and p.proname in ('roll_processed', 'drop_processed')) as "mayKeepIds"
     from granted join pg_roles r on r.oid = granted.oid
     cross join lateral (select has_table_privilege(r.oid, 'outbox.transport', 'update')
       and not has_table_privilege(r.oid, 'outbox.mark', 'insert') as operates) o
     where not r.rolsuper and not pg_has_role(r.oid, (select nspowner from pg_namespace where nspname = 'outbox'), 'usage')
     order by 1`,
    [senderTables.read, senderTables.write, consumerTables.read, consumerTables.write],
  );
}

export async function readOwnerFacts(sql: Sql): Promise<OwnerFacts> {
  const [row] = await sql.query<OwnerFacts>(
    `select current_user as role, pg_get_userbyid(n.nspowner) as owner, pg_has_role(n.nspowner, 'usage') as owns,
       array(select c.relname::text from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'S')
         and not pg_has_role(case when pg_has_role(n.nspowner, 'usage') then current_user::regrole else n.nspowner end, c.relowner, 'usage')
         order by 1) as "foreign",
       array(select c.relname::text from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v')
         and not c.relispartition and not has_table_privilege(c.oid, 'select') order by 1) as unread,
       has_table_privilege('outbox.transport', 'update') as operates
     from pg_namespace n where n.nspname = 'outbox'`,
  );
  if (row === undefined) throw new Error('The schema outbox is missing.');
  return row;
}
