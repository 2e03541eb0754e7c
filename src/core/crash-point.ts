/**
 * The named points where a process may die with something half done. Tests end the process there (`crashAt`).
 *
 * - `relay:claimed`: a batch was read, nothing was sent.
 * - `relay:acknowledged`: the broker has the batch, the database does not know it.
 * - `relay:settling`: the cursor is moved past it in a transaction that is open, its exceptions are not written.
 * - `relay:settled`: the database knows it; what has failed is not reported yet.
 * - `relay:told`: what has failed is reported, the database does not know that.
 * - `relay:notified`: `onFailed` has been called, its transaction is not committed.
 * - `relay:alert-called`: `onAlert` has been called, its transaction is not committed.
 * - `relay:confirmed`: a receipt is applied, the broker does not know that it was read.
 * - `bulk:page-open`: a page of a bulk operation is written in a transaction that is open.
 * - `bulk:page-committed`: it is committed, its workflow does not know it.
 * - `inbox:handled`: the handler is done, its transaction is not committed.
 * - `inbox:committed`: the effects are committed, the broker does not know it.
 * - `inbox:key-started`: the workflows of parked keys are started, their rows do not know it.
 * - `inbox:parking`: the tries of a message have failed, nothing is written yet.
 * - `inbox:park-written`: it is written with its parked key, the transaction is not committed.
 * - `inbox:parked`: it is committed, the broker does not know it, and the key has no workflow.
 * - `inbox:try-begun`: a try of a parked message counts, its handler has not run.
 * - `inbox:try-handled`: the handler is done, its transaction is not committed.
 * - `inbox:try-committed`: the effects are committed, the workflow does not know it.
 * - `inbox:try-failed`: the effects are rolled back, the failure is not written.
 * - `inbox:given-up`: the message has failed, the workflow does not know it.
 */
export const crashPoints = [
  'relay:claimed',
  'relay:acknowledged',
  'relay:settling',
  'relay:settled',
  'relay:told',
  'relay:notified',
  'relay:alert-called',
  'relay:confirmed',
  'bulk:page-open',
  'bulk:page-committed',
  'inbox:handled',
  'inbox:committed',
  'inbox:key-started',
  'inbox:parking',
  'inbox:park-written',
  'inbox:parked',
  'inbox:try-begun',
  'inbox:try-handled',
  'inbox:try-committed',
  'inbox:try-failed',
  'inbox:given-up',
] as const;

/** Name of a crash point; {@link crashPoints} says what is half done at each. */
export type CrashPoint = (typeof crashPoints)[number];

const traps = new Map<CrashPoint, () => void>();

/** Passes a crash point; does nothing without a trap. */
export function passCrashPoint(point: CrashPoint): void {
  traps.get(point)?.();
}

/** Calls `trap` at every pass of the point until the returned function is called. */
export function setTrap(point: CrashPoint, trap: () => void): () => void {
  traps.set(point, trap);
  return () => traps.delete(point);
}
