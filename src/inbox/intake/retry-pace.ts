const pauseMs = { first: 1_000, most: 30_000 } as const;

/**
 * How long a partition rests when a message can neither be handled nor kept: from 1 s, doubling to 30 s, without an end.
 *
 * @param pauses how often it has rested for this message
 */
export function nextPauseMs(pauses: number): number {
  // The exponent is bounded, so that the number of pauses is not.
  return Math.min(pauseMs.first * 2 ** Math.min(pauses, 10), pauseMs.most);
}
