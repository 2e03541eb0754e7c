const units = [
  ['day', 24 * 60 * 60_000],
  ['hour', 60 * 60_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/**
 * A length of time as people read it, in one unit or two, such as `1 minute 36 seconds`: `ms` alone would say `2 minutes` for that.
 * Rounded to the smaller unit.
 */
export function timeInWords(lengthMs: number): string {
  const sign = lengthMs < 0 ? '-' : '';
  const wholeMs = Math.abs(Math.round(lengthMs));
  const largest = units.findIndex(([, unitMs]) => wholeMs >= unitMs);
  if (largest < 0) return `${sign}${wholeMs} ms`;
  const two = units.slice(largest, largest + 2);
  const smallestMs = two.at(-1)?.[1] ?? 1_000;
  let leftMs = Math.round(wholeMs / smallestMs) * smallestMs;
  // Rounded up to a larger unit.
  if (leftMs >= (units[largest - 1]?.[1] ?? Number.POSITIVE_INFINITY)) return sign + timeInWords(leftMs);
  const parts = two.flatMap(([name, unitMs]) => {
    const count = Math.floor(leftMs / unitMs);
    leftMs -= count * unitMs;
    return count === 0 ? [] : [`${count} ${name}${count === 1 ? '' : 's'}`];
  });
  return `${sign}${parts.join(' ')}`;
}
