/** What a client knows about one message that it sent. */
export interface LedgerEntry {
  /** Chosen by the client, before the call. */
  readonly id: string;
  readonly key: string;
  /** Rises with every send of the key. */
  readonly n: number;
  /** Milliseconds until it is due; 0: now. A delayed message has no place in the order of its key. */
  readonly afterMs: number;
  /** `unknown`: the call failed, and the transaction may have committed all the same. */
  answer: 'committed' | 'rolled-back' | 'unknown';
  /** The answer to a cancel that committed; `unknown` when that is not known. */
  cancel?: 'canceled' | 'too-late' | 'unknown';
}

/** A record of the broker, in the order of its log. */
export interface Logged {
  readonly id: string;
  readonly key: string | null;
  readonly payload: string;
}

/** Every call of the clients of a test, noted before it starts, and what it answered. */
export class Ledger {
  readonly entries = new Map<string, LedgerEntry>();

  /** Notes a send that is about to start. */
  note(entry: Omit<LedgerEntry, 'answer' | 'cancel'>): LedgerEntry {
    const noted: LedgerEntry = { ...entry, answer: 'unknown' };
    this.entries.set(entry.id, noted);
    return noted;
  }

  count(answer: LedgerEntry['answer']): number {
    return [...this.entries.values()].filter((entry) => entry.answer === answer).length;
  }
}

/** How a log differs from what clients know. Names are `key:n`. All empty: every promise was kept. */
export interface LedgerVerdict {
  /** I1: committed, not canceled, not in the log. */
  readonly lost: readonly string[];
  /** I2: in the log, and rolled back, unknown to everybody, or with another key or payload. */
  readonly ghosts: readonly string[];
  /** I3: arrived for the first time after a later one of its key. */
  readonly disordered: readonly string[];
  /** I5: answered `canceled` and in the log, or `too-late` and never there. */
  readonly contradictions: readonly string[];
}

export const kept: LedgerVerdict = { lost: [], ghosts: [], disordered: [], contradictions: [] };

/** Holds a log against a ledger, once everything has come to its end. */
export function judgeLedger(ledger: Ledger, log: readonly Logged[]): LedgerVerdict {
  const entries = [...ledger.entries.values()];
  const logged = new Set(log.map(({ id }) => id));
  return {
    lost: entries
      .filter(({ id, answer, cancel }) => answer === 'committed' && mustArrive(cancel) && !logged.has(id))
      .map(nameOf),
    ghosts: log.filter((record) => isGhost(record, ledger.entries.get(record.id))).map(({ id }) => id),
    disordered: disordered(ledger, log),
    contradictions: entries
      .filter(
        ({ id, cancel }) =>
          (cancel === 'canceled' && logged.has(id)) || (cancel === 'too-late' && !logged.has(id)),
      )
      .map(nameOf),
  };
}

/** Arrivals beyond the first of each message. */
export function repeats(log: readonly Logged[]): number {
  return log.length - new Set(log.map(({ id }) => id)).size;
}

function nameOf({ key, n }: LedgerEntry): string {
  return `${key}:${n}`;
}

function mustArrive(cancel: LedgerEntry['cancel']): boolean {
  return cancel === undefined || cancel === 'too-late';
}

function isGhost({ key, payload }: Logged, entry: LedgerEntry | undefined): boolean {
  if (entry === undefined || entry.answer === 'rolled-back') return true;
  return key !== entry.key || payload !== JSON.stringify({ n: entry.n });
}

/** Of two committed sends of a key, the later one began after the earlier had committed; others have no order. */
function disordered({ entries }: Ledger, log: readonly Logged[]): readonly string[] {
  const seen = new Set<string>();
  const newest = new Map<string, number>();
  const late: string[] = [];
  for (const { id } of log) {
    const entry = entries.get(id);
    if (entry?.answer !== 'committed' || entry.afterMs > 0 || seen.has(id)) continue;
    seen.add(id);
    const before = newest.get(entry.key) ?? -1;
    if (entry.n < before) late.push(`${nameOf(entry)} after ${before}`);
    newest.set(entry.key, Math.max(entry.n, before));
  }
  return late;
}
