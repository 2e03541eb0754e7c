import type { Figure, Measured } from './figure.ts';
import type { Labels } from './labels.ts';

/** One value for each name: of several that `nameOf` gives the same the worst. */
export function worst(
  { below = false }: Pick<Figure, 'below'>,
  values: readonly Measured[],
  nameOf: (of: Labels) => string,
): readonly Measured[] {
  const byName = new Map<string, Measured>();
  for (const one of values) {
    const name = nameOf(one.of);
    const before = byName.get(name);
    if (before === undefined || (below ? one.figure < before.figure : one.figure > before.figure))
      byName.set(name, one);
  }
  return [...byName.values()];
}
