/** Statements that mend what the doctor finds, for people to run: nothing here is executed. */
export const mending = {
  set: (setting: string, value: string) => `alter system set ${setting} = ${value}; select pg_reload_conf()`,
  raiseConnections: (count: number) => `alter system set max_connections = ${count}, and restart the server`,
  unlimitRole: (role: string) => `alter role ${name(role)} connection limit -1`,
  unlimitDatabase: 'alter database … connection limit -1',
  resetAsynchronous: 'alter role … reset synchronous_commit',
  end: (pid: number) => `select pg_terminate_backend(${pid})`,
  seeOthers: 'grant pg_read_all_stats to its role',
  rollBack: (prepared: string) => `rollback prepared ${literal(prepared)}, or commit prepared`,
  dropSlot: (slot: string) => `select pg_drop_replication_slot(${literal(slot)}), if nobody needs it`,
  vacuum: (table: string) => `vacuum (analyze) outbox.${table}`,
  attend: (table: string) => `alter table outbox.${table} reset (autovacuum_enabled)`,
  dropMonth: (month: string) => `drop table outbox.${month}`,
  enable: (trigger: string, table: string) => `alter table outbox.${table} enable trigger ${trigger}`,
  reindex: (index: string) => `reindex index concurrently outbox.${index}`,
  own: (table: string, owner: string) => `alter table outbox.${table} owner to ${name(owner)}`,
  member: (role: string, owner: string) =>
    `grant ${name(owner)} to ${name(role)}, or connect as ${name(owner)}`,
  /** As docs/production.md has them. */
  letSend: (role: string) =>
    [
      `grant usage on schema outbox to ${name(role)}`,
      `grant usage on all sequences in schema outbox to ${name(role)}`,
      `grant select on all tables in schema outbox to ${name(role)}`,
      `grant insert, update, delete on outbox.message, outbox.schedule to ${name(role)}`,
      'select outbox.grant_log()',
    ].join('; '),
  letConsume: (role: string) =>
    [
      `grant usage on schema outbox to ${name(role)}`,
      `grant usage on all sequences in schema outbox to ${name(role)}`,
      `grant select, insert, update, delete on all tables in schema outbox to ${name(role)}`,
    ].join('; '),
  letKeepIds: (role: string) =>
    `grant execute on function outbox.roll_processed, outbox.drop_processed to ${name(role)}`,
} as const;

function name(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
