/** What to do after a failed try: again in place, or let the partition rest first. */
export interface NextTry {
  readonly kind: 'in-place' | 'after-pause';
  readonly inMs: number;
}

const pauseMs = { first: 1_000, most: 30_000 } as const;

/**
 * The pace of tries: the quick ones in place, then pauses that double from 1 s to 30 s, without an end.
 *
 * @param attempt the number of the try that failed, from 1
 */
export function nextTry(quickRetriesMs: readonly number[], attempt: number): NextTry {
  const quickMs = quickRetriesMs[attempt - 1];
  if (quickMs !== undefined) return { kind: 'in-place', inMs: quickMs };
  const pauses = attempt - 1 - quickRetriesMs.length;
  // The exponent is bounded, so that the number of tries is not.
  return { kind: 'after-pause', inMs: Math.min(pauseMs.first * 2 ** Math.min(pauses, 10), pauseMs.most) };
}
