import type { JournalEntry } from './journal.ts';

/** What was committed, per key and in order, by the number in each payload. */
export type Committed = ReadonlyMap<string, readonly number[]>;

/** How a journal differs from what was committed. All empty and 0: delivered once, in order. */
export interface JournalVerdict {
  /** Committed, never published: `key:n`. */
  readonly lost: readonly string[];
  /** Published, never committed. */
  readonly ghosts: readonly string[];
  /** First arrivals that came before an earlier message of their key. */
  readonly disordered: readonly string[];
  /** Arrivals beyond the first of each message. */
  readonly duplicates: number;
}

/** Compares what arrived with what was committed. */
export function judgeJournal(entries: readonly JournalEntry[], committed: Committed): JournalVerdict {
  const expected = new Set([...committed].flatMap(([key, numbers]) => numbers.map((n) => `${key}:${n}`)));
  const seen = new Set<string>();
  const lastOfKey = new Map<string, number>();
  const ghosts: string[] = [];
  const disordered: string[] = [];
  let duplicates = 0;
  for (const { key, payload } of entries) {
    const n = numberOf(payload);
    const name = `${key}:${n}`;
    if (!expected.has(name)) ghosts.push(name);
    else if (seen.has(name)) duplicates += 1;
    else {
      seen.add(name);
      const last = lastOfKey.get(String(key)) ?? Number.NEGATIVE_INFINITY;
      if (n < last) disordered.push(`${name} after ${last}`);
      lastOfKey.set(String(key), Math.max(n, last));
    }
  }
  return { lost: [...expected].filter((name) => !seen.has(name)), ghosts, disordered, duplicates };
}

/** Once, in order, nothing else. */
export const flawless: JournalVerdict = { lost: [], ghosts: [], disordered: [], duplicates: 0 };

/**
 * Messages that arrived twice although their first publisher did not die right after it: `key:n`. A killed relay may
 * cost one batch of duplicates, its last.
 */
export function unexcusedDuplicates(
  entries: readonly JournalEntry[],
  killed: readonly string[],
): readonly string[] {
  const excused = new Set(
    killed.map((publisher) => entries.findLast((entry) => entry.publisher === publisher)?.batch),
  );
  const firstBatch = new Map<string, string>();
  const unexcused: string[] = [];
  for (const { id, batch, key, payload } of entries) {
    const first = firstBatch.get(id);
    if (first === undefined || excused.has(first)) firstBatch.set(id, batch);
    else unexcused.push(`${key}:${numberOf(payload)}`);
  }
  return unexcused;
}

/** The longest time in which nothing arrived, in milliseconds, between the first and the last arrival. */
export function longestGapMs(entries: readonly JournalEntry[]): number {
  return entries.reduce((longest, { atMs }, index) => {
    const before = entries[index - 1];
    return before === undefined ? longest : Math.max(longest, atMs - before.atMs);
  }, 0);
}

function numberOf(payload: string): number {
  const { n } = JSON.parse(payload) as { readonly n: number };
  return n;
}
