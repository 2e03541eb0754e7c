import { createHash } from 'node:crypto';
import type { Mutant } from './mutant.ts';

/**
 * The mutants in an order that the seed decides, one of each statement: a line on which ten rules fit is not ten times as
 * likely as a line on which one does.
 */
export function draw(mutants: readonly Mutant[], seed: string): readonly Mutant[] {
  const ofStatement = new Map<string, Mutant[]>();
  for (const mutant of mutants) {
    const place = `${mutant.path}:${mutant.statement}`;
    ofStatement.set(place, [...(ofStatement.get(place) ?? []), mutant]);
  }
  return [...ofStatement]
    .map(([place, several]) => ({
      order: numberOf(`${seed} ${place}`),
      mutant: several[Number(numberOf(`${seed} of ${place}`) % BigInt(several.length))],
    }))
    .toSorted((a, b) => (a.order < b.order ? -1 : 1))
    .flatMap(({ mutant }) => mutant ?? []);
}

function numberOf(text: string): bigint {
  return createHash('sha256').update(text).digest().readBigUInt64BE();
}
