import type { Sql } from '../database/database.ts';

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
  /** Tables, views and sequences of the schema whose owner's rights it lacks. */
  readonly foreign: readonly string[];
}

/**
 * What a role needs, in rows of `what` (for a GRANT) and `has`. Partitions and leaves are left out: whoever uses their table needs
 * no right to them, but a sender to the current leaf, in which its messages are inserted by name. The `case` is for the planner, which may ask about a relation before it filters them.
 */
const needs = `
  select 'usage on schema outbox' as what, has_schema_privilege(r.oid, 'outbox', 'usage') as has, true as send, true as consume
  union all
  select kind || ' on outbox.' || c.relname, has_table_privilege(r.oid, c.oid, kind),
    kind = 'select' or c.relname in ('message', 'schedule'), true
  from pg_class c cross join unnest(array['select', 'insert', 'update', 'delete']) as kind
  where c.relnamespace = 'outbox'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
    and not exists (select from pg_inherits i where i.inhrelid = c.oid)
    and (c.relkind <> 'v' or kind = 'select')
  union all
  select kind || ' on outbox.log_' || f.n, has_table_privilege(r.oid, 'outbox.log_' || f.n, kind), true, false
  from outbox.leaf f cross join unnest(array['select', 'insert']) as kind where f.closed_at is null
  union all
  select 'usage on sequence outbox.' || c.relname, case when c.relkind = 'S' then has_sequence_privilege(r.oid, c.oid, 'usage') end, true, true
  from pg_class c where c.relnamespace = 'outbox'::regnamespace and c.relkind = 'S'
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
       has_table_privilege(r.oid, 'outbox.message', 'insert') as sends,
       has_table_privilege(r.oid, 'outbox.processed', 'insert') as consumes,
       array(select what from (${needs}) need where send and not has order by 1) as "lacksToSend",
       array(select what from (${needs}) need where consume and not has order by 1) as "lacksToConsume",
       (select bool_and(has_function_privilege(r.oid, p.oid, 'execute')) from pg_proc p
         -- Whoever has a trigger fired needs no right to its function.
         where p.pronamespace = 'outbox'::regnamespace and p.prosecdef and p.prorettype <> 'trigger'::regtype) as "mayKeepIds"
     from granted join pg_roles r on r.oid = granted.oid
     where not r.rolsuper and not pg_has_role(r.oid, (select nspowner from pg_namespace where nspname = 'outbox'), 'usage')
     order by 1`,
  );
}

export async function readOwnerFacts(sql: Sql): Promise<OwnerFacts> {
  const [row] = await sql.query<OwnerFacts>(
    `select current_user as role, pg_get_userbyid(n.nspowner) as owner, pg_has_role(n.nspowner, 'usage') as owns,
       array(select c.relname::text from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'S')
         and not pg_has_role(c.relowner, 'usage') order by 1) as "foreign"
     from pg_namespace n where n.nspname = 'outbox'`,
  );
  if (row === undefined) throw new Error('The schema outbox is missing.');
  return row;
}
