import type { ContenderName } from './contenders/contenders.ts';

/** What our drain must be beside another's, each with its best round. */
export interface DrainTarget {
  readonly than: ContenderName;
  /** Messages per second, ours ÷ theirs, at least. */
  readonly faster: number;
  /** Processor time of the node process for a message, theirs ÷ ours, at least. Neighbors on the machine hardly change it. */
  readonly cheaper: number;
}

/**
 * They hold on a busy machine with two processors, well below what a quiet one shows: `npm run bench:check`. Peers run with the
 * best setting that is known; those that give a handler one job send it alone.
 */
export const drainTargets: readonly DrainTarget[] = [
  { than: 'bare', faster: 0.6, cheaper: 0.6 },
  { than: 'pgBoss', faster: 2, cheaper: 2 },
  { than: 'graphileWorker', faster: 12, cheaper: 15 },
  { than: 'bullmq', faster: 10, cheaper: 15 },
  { than: 'loop', faster: 50, cheaper: 45 },
];
