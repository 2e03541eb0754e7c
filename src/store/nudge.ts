import type { Sql } from './database.ts';

/** The channel on which producers tell relays that something was committed. */
export const nudgeChannel = 'outbox';

/** Wakes the relays. Never inside the business transaction: NOTIFY there serialises commits. */
export async function sendNudge(sql: Sql): Promise<void> {
  await sql.query(`select 1 from pg_notify('${nudgeChannel}', '')`);
}
