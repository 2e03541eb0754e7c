/**
 * Whether a snapshot, in the text form of PostgreSQL, shows what all of these transactions have committed.
 *
 * @param xids transactions that have committed, with commas
 */
export function shows(snapshot: string, xids: string): boolean {
  const [, xmax = '0', running = ''] = snapshot.split(':');
  const inProgress = new Set(running.split(','));
  return xids.split(',').every((xid) => BigInt(xid) < BigInt(xmax) && !inProgress.has(xid));
}
