import type { Difference } from './random/mutant.ts';

/** A bug of `--random` that may survive. */
export interface Accepted extends Difference {
  readonly path: string;
  /** Why no test has to catch it. */
  readonly why: string;
}

/** Changes that make no difference that is promised, each by its exact lines. */
export const accepted: readonly Accepted[] = [
  {
    path: 'src/inbox/reading/without-values.ts',
    before: "const all = left.join('\\n');",
    after: "const all = left.join('');",
    why: 'It only rules out values; one that is found across two texts is replaced in neither.',
  },
  {
    path: 'src/store/retention/brief-lock.ts',
    before: 'await sql.query(`set local lock_timeout = ${lockMs}`);',
    after: 'sql.query(`set local lock_timeout = ${lockMs}`);',
    why: 'Statements of one connection are carried out in the order in which they are given.',
  },
  {
    path: 'src/inbox/handling/breaker.ts',
    before: 'return this.#byAddress.size > 0 && this.#byAddress.has(address);',
    after: 'return this.#byAddress.size >= 0 && this.#byAddress.has(address);',
    why: 'An empty map has no address either: the size is asked first because that is faster.',
  },
  {
    path: 'src/relay/rate-gate.ts',
    before: 'if (leftMs > 0) return { granted: 0, waitMs: leftMs };',
    after: 'if (leftMs >= 0) return { granted: 0, waitMs: leftMs };',
    why: 'With nothing left the lane waits for nothing, and asks.',
  },
  {
    path: 'src/relay/lane-progress.ts',
    before: 'return BigInt(a) >= BigInt(b) ? a : b;',
    after: 'return BigInt(a) > BigInt(b) ? a : b;',
    why: 'Of two equal positions either is the greater one.',
  },
  {
    path: 'src/relay/lane-progress.ts',
    before: 'return { cursor: greater(at.cursor, last ?? at.cursor), snapshot };',
    after: 'return { cursor: greater(last ?? at.cursor, at.cursor), snapshot };',
    why: 'The greater of two is the same in either order.',
  },
  {
    path: 'src/relay/lane-delivery.ts',
    before: '#caughtUp = false;',
    after: '#caughtUp = true;',
    why: 'It is read behind a batch only, whose delivery begins by setting it.',
  },
  {
    path: 'src/relay/lane-delivery.ts',
    before: 'this.#caughtUp = false;',
    after: '{}',
    why: 'Before the first settle it is false, and a delivery that ends early after one has lost the lane.',
  },
];

/** Why a change may survive, if it may. */
export function acceptedFor(path: string, { before, after }: Difference): string | undefined {
  return accepted.find((one) => one.path === path && one.before === before && one.after === after)?.why;
}
