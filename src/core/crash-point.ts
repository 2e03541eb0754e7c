/**
 * The named points at which a process can die with something half done. Tests end the process there (`crashAt`).
 *
 * - `relay:claimed`: a batch was read, nothing was sent.
 * - `relay:acknowledged`: the broker has the batch, the database does not know it.
 * - `relay:settled`: the database knows it.
 * - `relay:confirmed`: a receipt is applied, the broker does not know that it was read.
 * - `relay:bulk-page`: a page of a bulk operation is committed, its workflow does not know it.
 * - `relay:bulk-withdrawn`: the messages of such a page are withdrawn, and not counted.
 * - `inbox:handled`: the handler is done, its transaction is not committed.
 * - `inbox:committed`: the effects are committed, the broker does not know it.
 */
export const crashPoints = [
  'relay:claimed',
  'relay:acknowledged',
  'relay:settled',
  'relay:confirmed',
  'relay:bulk-page',
  'relay:bulk-withdrawn',
  'inbox:handled',
  'inbox:committed',
] as const;

export type CrashPoint = (typeof crashPoints)[number];

const traps = new Map<CrashPoint, () => void>();

/** Passes a crash point; without a trap it does nothing. */
export function passCrashPoint(point: CrashPoint): void {
  traps.get(point)?.();
}

/** Calls `trap` at every pass of the point until the returned function is called. */
export function setTrap(point: CrashPoint, trap: () => void): () => void {
  traps.set(point, trap);
  return () => traps.delete(point);
}
