/** The path of a value that JSON cannot represent, and why. */
export interface UnwritableValue {
  /** For example `order.lines.0.price`; `(whole)`: the value itself. */
  readonly path: string;
  readonly why: string;
}

/** Looking deeper would take more of the stack than it has; `JSON.stringify` writes a few thousand levels. */
const deepest = 1_000;

/** Why `JSON.stringify` has thrown; `undefined` if a `toJSON` of the value has. */
export function findUnwritable(payload: unknown): UnwritableValue | undefined {
  return search(payload, [], []);
}

function search(
  value: unknown,
  path: readonly string[],
  above: readonly unknown[],
): UnwritableValue | undefined {
  const name = path.length === 0 ? '(whole)' : path.join('.');
  if (typeof value === 'bigint') return { path: name, why: 'is a BigInt, which JSON does not support' };
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return undefined;
  if (path.length === deepest)
    return { path: `${path.slice(0, 3).join('.')}.…`, why: `is nested more than ${deepest} deep` };
  if (above.includes(value)) return { path: name, why: 'contains itself' };
  for (const [key, inner] of Object.entries(value)) {
    const found = search(inner, [...path, key], [...above, value]);
    if (found !== undefined) return found;
  }
  return undefined;
}
