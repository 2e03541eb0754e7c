import type { GroupLag, RelayStatus } from './relays.ts';

/**
 * Lags of consumer groups as living relays report them: relays may have different topics, and one of them may not reach a broker. Of
 * several reports of a lag the latest counts.
 */
export function lagsOf(living: readonly Pick<RelayStatus, 'lags' | 'seenMs'>[]): readonly GroupLag[] {
  const lags = new Map<string, GroupLag>();
  for (const relay of living.toSorted((a, b) => b.seenMs - a.seenMs))
    for (const lag of relay.lags) lags.set(JSON.stringify([lag.group, lag.topic]), lag);
  return [...lags.values()];
}
