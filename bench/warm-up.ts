import type { DrainFigures } from './contenders/arena.ts';

/** A drain that costs the servers less than this share of the cheapest one before says that they are still warming up. */
const stillFalling = 0.9;
/** So many drains in a row that are not cheaper say that they are warm: one alone may have been disturbed. */
const drainsOnceWarm = 2;
/** Servers that other programs disturb may never settle. */
const mostDrains = 8;

/**
 * Drains until that costs the servers no less any more, so that the first contender pays for nothing: Kafka spends several
 * times as much on a message until Java has compiled what it runs, which takes more than one drain.
 *
 * @returns the number of drains
 */
export async function warmUp(once: () => Promise<Pick<DrainFigures, 'serverUsPerMessage'>>): Promise<number> {
  let cheapest = Number.POSITIVE_INFINITY;
  let warm = 0;
  for (let drains = 1; ; drains += 1) {
    const { serverUsPerMessage } = await once();
    const cost = Object.values(serverUsPerMessage).reduce((sum, each) => sum + each, 0);
    warm = cost < cheapest * stillFalling ? 0 : warm + 1;
    if (warm === drainsOnceWarm || drains === mostDrains) return drains;
    cheapest = Math.min(cheapest, cost);
  }
}

/** The same in the order of a round, counted from 1: each begins with another one, so that nobody is always the first. */
export function inTurn<T>(all: readonly T[], round: number): readonly T[] {
  const first = (round - 1) % Math.max(1, all.length);
  return [...all.slice(first), ...all.slice(0, first)];
}
