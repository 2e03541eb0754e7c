import { pauseAfter } from '../../core/pause-after.ts';

const pauseMs = { first: 1_000, most: 30_000 } as const;

/**
 * How long a partition pauses when a message can be neither handled nor kept: 1 s, doubling up to 30 s, without a limit
 * on the number of pauses.
 *
 * @param pauses how often it has paused for this message
 */
export function nextPauseMs(pauses: number): number {
  return pauseAfter(pauses + 1, pauseMs);
}
