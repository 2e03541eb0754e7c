import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Topic } from '../../src/core/topic.ts';
import { cancel } from '../../src/outbox/change.ts';
import { sendBatch } from '../../src/outbox/send.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { Ledger, type LedgerEntry } from './ledger.ts';
import { type Random, seededRandom } from './random.ts';
import type { Numbered } from './stage.ts';

/** What is written to. */
export interface Committer {
  /** Runs `work` in one transaction; rejects when the commit is refused, or not known. */
  commit<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
}

export interface LedgerLoadOptions {
  readonly seed: number;
  /** Of all writers together, canceled and rolled back ones included. */
  readonly perSecond: number;
  /** Each writes to keys of its own, one transaction after the other. @defaultValue 4 */
  readonly writers?: number;
  /** @defaultValue 16 */
  readonly keysPerWriter?: number;
  /** Share of delayed messages, due after 1 to 4 s; half of them are canceled around that time. @defaultValue 0 */
  readonly delayed?: number;
}

/** Writers that go on, whatever their calls answer, until they are stopped. */
export interface LedgerLoad {
  readonly ledger: Ledger;
  /** Ends the writers after their last transactions, and waits for the last cancels. */
  stop(): Promise<Ledger>;
}

const everyMs = 40;
const rolledBack = 0.2;
const delayedMs = { least: 1_000, more: 3_000 };
/** Cancels come this long before or after the due time, at most. */
const cancelWithinMs = 60;

class RolledBack extends Error {}

/** Begins to send numbered messages to a topic, one fifth of the transactions being rolled back. */
export function startLedgerLoad(
  stage: Committer,
  topic: Topic<Numbered>,
  { seed, perSecond, writers = 4, keysPerWriter = 16, delayed = 0 }: LedgerLoadOptions,
): LedgerLoad {
  const ledger = new Ledger();
  const stopping = new AbortController();
  const cancels: Promise<void>[] = [];

  function draft(random: Random, writer: number, n: number): LedgerEntry {
    const afterMs = random.chance(delayed) ? delayedMs.least + random.below(delayedMs.more) : 0;
    return ledger.note({ id: randomUUID(), key: `w${writer}-k${random.below(keysPerWriter)}`, n, afterMs });
  }

  async function commitAll(entries: readonly LedgerEntry[], rollBack: boolean): Promise<void> {
    const answer = await outcome(async (tx) => {
      await sendBatch(
        tx,
        topic,
        entries.map(({ id, key, n, afterMs }) => ({
          id,
          key,
          payload: { n },
          ...(afterMs > 0 && { after: afterMs }),
        })),
      );
      if (rollBack) throw new RolledBack();
    });
    for (const entry of entries) entry.answer = answer;
  }

  async function outcome(work: (tx: Transaction) => Promise<void>): Promise<LedgerEntry['answer']> {
    try {
      await stage.commit(work);
      return 'committed';
    } catch (error) {
      return error instanceof RolledBack ? 'rolled-back' : 'unknown';
    }
  }

  async function cancelAround(entry: LedgerEntry, waitMs: number): Promise<void> {
    await delay(waitMs);
    entry.cancel = 'unknown';
    await stage
      .commit((tx) => cancel(tx, topic, { id: entry.id }))
      .then(
        (answer) => (entry.cancel = answer),
        () => undefined,
      );
  }

  async function write(writer: number): Promise<void> {
    const random = seededRandom(seed * 1_000 + writer);
    const startedAt = performance.now();
    let n = 0;
    while (!stopping.signal.aborted) {
      const wanted = ((performance.now() - startedAt) / 1_000) * (perSecond / writers);
      const entries: LedgerEntry[] = [];
      while (n < wanted) entries.push(draft(random, writer, (n += 1)));
      if (entries.length > 0) await commitAll(entries, random.chance(rolledBack));
      for (const entry of entries) {
        if (entry.answer !== 'committed' || entry.afterMs === 0 || random.chance(0.5)) continue;
        cancels.push(cancelAround(entry, entry.afterMs + (random.next() * 2 - 1) * cancelWithinMs));
      }
      await delay(everyMs);
    }
  }

  const running = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  running.catch(() => undefined);
  return {
    ledger,
    async stop() {
      stopping.abort();
      await running;
      await Promise.all(cancels);
      return ledger;
    },
  };
}
