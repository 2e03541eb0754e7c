import type { Sql } from './database.ts';

/** What somebody did to a message by hand. */
export interface AuditEntry {
  readonly actor: string;
  readonly action: string;
  readonly messageId: string;
  readonly result: string;
  readonly reason?: string;
}

/** Writes an entry in the transaction of the action. */
export async function writeAudit(sql: Sql, entry: AuditEntry): Promise<void> {
  await sql.query(
    `insert into outbox.audit (actor, action, message_id, result, reason) values ($1, $2, $3, $4, $5)`,
    [entry.actor, entry.action, entry.messageId, entry.result, entry.reason ?? null],
  );
}
