import { createHash } from 'node:crypto';
import { type PromiseTag, promises } from '../promises.ts';
import type { Mutation } from './mutation.ts';

/** Which entries of the list to plant. */
export interface Choice {
  /** Only those whose name contains this. */
  readonly only?: string | undefined;
  /** Only those whose promise has this in its tag or its bold words, `I5` for instance. */
  readonly promise?: string | undefined;
  /** So many of the others, spread over the list; the seed says which. */
  readonly rotate?: { readonly count: number; readonly seed: string } | undefined;
}

/** The entries that were asked for, in the order of the list. The same seed has the same answer. */
export function choose(list: readonly Mutation[], { only, promise, rotate }: Choice): readonly Mutation[] {
  const named = list.filter(
    (entry) =>
      (only === undefined || entry.name.includes(only)) &&
      (promise === undefined || speaksOf(entry.promise, promise)),
  );
  if (rotate === undefined || rotate.count >= named.length) return named;
  const step = Math.floor(named.length / rotate.count);
  const start = createHash('sha256').update(rotate.seed).digest().readUInt32BE() % named.length;
  const chosen = new Set(Array.from({ length: rotate.count }, (_, n) => (start + n * step) % named.length));
  return named.filter((_, n) => chosen.has(n));
}

/** `I1` is not meant by `I11`. */
function speaksOf(tag: PromiseTag, asked: string): boolean {
  const words = asked.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`(?<![A-Za-z0-9])${words}(?![A-Za-z0-9])`, 'i').test(
    `${tag} ${promises[tag].split('**')[1]}`,
  );
}
