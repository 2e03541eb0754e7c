/** A repeatable source of chance. */
export interface Random {
  /** 0 to 1, exclusive. */
  next(): number;
  /** An integer from 0 to `bound`, exclusive. */
  below(bound: number): number;
  chance(probability: number): boolean;
  pick<Value>(values: readonly Value[]): Value | undefined;
}

/** A linear congruential step with mixing: good enough to choose among actions, and the same everywhere. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    let mixed = state ^ (state >>> 15);
    mixed = Math.imul(mixed, 0x2c1b3c6d);
    mixed ^= mixed >>> 12;
    return (mixed >>> 0) / 4_294_967_296;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (values) => values[below(values.length)],
  };
}
