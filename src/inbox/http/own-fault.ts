import { OutboxError } from '../../core/errors.ts';
import { faultOf } from '../handling/infrastructure-faults.ts';

/** Codes for a receiver's database that cannot be used as it is. */
const ofDatabase: ReadonlySet<string> = new Set([
  'OUTBOX_MIGRATION_MISSING',
  'OUTBOX_PRIVILEGE_MISSING',
  'OUTBOX_ROW_SECURITY_ACTIVE',
  'OUTBOX_SCHEMA_EMPTIED',
  'OUTBOX_SERVER_UNAVAILABLE',
]);

/** Seconds that the sender should wait: for a server to come back, and for another transaction to end. */
const waits = { away: 5, conflict: 1 } as const;

/**
 * How long a sender should wait because of the receiver's own database: it is unreachable, restarting, not migrated, out of
 * connections, or has another transaction in the way.
 *
 * @param begun whether the work has begun; until then nothing but the database can fail
 * @returns seconds; `undefined`: the work failed
 */
export function ownFaultWait(error: unknown, begun: boolean): number | undefined {
  const fault = faultOf(error);
  if (fault !== undefined) return waits[fault];
  if (begun) return undefined;
  return !(error instanceof OutboxError) || ofDatabase.has(error.code) ? waits.away : undefined;
}
