import { type Lane, laneName } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';

/** The channel on which producers notify relays that something was committed. */
export const nudgeChannel = 'outbox';

/** A notification can carry less than 8,000 bytes. */
const longestPayload = 7_900;

/**
 * Wakes the relays, and names the lanes with news; if none or too many are given, relays look at all. Not to be used inside
 * the business transaction: NOTIFY there serialises commits.
 */
export async function sendNudge(sql: Sql, lanes: readonly Lane[]): Promise<void> {
  const names = lanes.map(laneName).join(' ');
  const payload = names.length > longestPayload ? '' : names;
  await sql.query(`select 1 from pg_notify('${nudgeChannel}', $1)`, [payload]);
}

/** The lanes that a nudge names; empty: it names none. */
export function lanesOfNudge(payload: string): readonly Lane[] {
  return payload.split(' ').flatMap((name) => {
    const [, topic, lane] = /^([^/]+)\/(\d{1,9})$/.exec(name) ?? [];
    return topic === undefined ? [] : [{ topic, lane: Number(lane) }];
  });
}
