import { endSessionOf } from '../../core/end-session.ts';
import { consumerTables, type RoleTables, senderTables } from './role-tables.ts';

/** Statements that mend what the doctor finds, for people to run: nothing here is executed. */
export const mending = {
  set: (setting: string, value: string) => `alter system set ${setting} = ${value}; select pg_reload_conf()`,
  raiseConnections: (count: number) => `alter system set max_connections = ${count}, and restart the server`,
  unlimitRole: (role: string) => `alter role ${name(role)} connection limit -1`,
  unlimitDatabase: 'alter database … connection limit -1',
  resetAsynchronous: 'alter role … reset synchronous_commit',
  end: endSessionOf,
  seeOthers: 'grant pg_read_all_stats to its role',
  rollBack: (prepared: string) => `rollback prepared ${literal(prepared)}, or commit prepared`,
  dropSlot: (slot: string) => `select pg_drop_replication_slot(${literal(slot)}), if nobody needs it`,
  vacuum: (table: string) => `vacuum (analyze) outbox.${table}`,
  attend: (table: string) => `alter table outbox.${table} reset (autovacuum_enabled)`,
  dropMonth: (month: string) => `drop table outbox.${month}`,
  enable: (trigger: string, table: string) => `alter table outbox.${table} enable trigger ${trigger}`,
  unsecure: (tables: readonly string[]) =>
    tables.map((table) => `alter table outbox.${table} disable row level security`).join('; '),
  reindex: (index: string) => `reindex index concurrently outbox.${index}`,
  own: (table: string, owner: string) => `alter table outbox.${table} owner to ${name(owner)}`,
  member: (role: string, owner: string) =>
    `grant ${name(owner)} to ${name(role)}, or connect as ${name(owner)}`,
  /** As deploy/roles.sql has them. */
  letSend: (role: string) =>
    [
      ...letUse(role, senderTables),
      `grant usage on sequence outbox.message_position to ${name(role)}`,
      'select outbox.grant_log()',
    ].join('; '),
  letConsume: (role: string) =>
    [
      ...letUse(role, consumerTables),
      `grant select (id, created_at, position, xid) on outbox.message, outbox.log to ${name(role)}`,
      `grant update on outbox.bulk_operation, outbox.processed_epoch to ${name(role)}`,
      `grant insert on outbox.audit to ${name(role)}`,
    ].join('; '),
  letKeepIds: (role: string) =>
    `grant execute on function outbox.roll_processed, outbox.drop_processed to ${name(role)}`,
} as const;

function letUse(role: string, { read, write }: RoleTables): readonly string[] {
  const tables = (names: readonly string[]) => names.map((table) => `outbox.${table}`).join(', ');
  return [
    `grant usage on schema outbox to ${name(role)}`,
    `grant select on ${tables(read)} to ${name(role)}`,
    `grant select, insert, update, delete on ${tables(write)} to ${name(role)}`,
  ];
}

function name(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
