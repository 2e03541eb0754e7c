import { setTimeout as delay } from 'node:timers/promises';
import { storeMessages } from '../../src/store/write.ts';
import { openTransaction } from './open-transaction.ts';
import { seededRandom } from './random.ts';

/** Writers whose transactions overlap. Each has keys of its own, so that what it commits has an order per key. */
export interface KeyWriters {
  /** Committed labels by key, in order: `key:n`. */
  readonly committed: ReadonlyMap<string, readonly string[]>;
  /** Ends the writers after their last transactions. */
  stop(): Promise<void>;
}

export interface KeyWritersOptions {
  readonly url: string;
  readonly topic: string;
  readonly seed: number;
  readonly writers: number;
  readonly keysEach: number;
  /** The longest time for which a transaction stays open after it has sent. */
  readonly openMs: number;
}

/** Begins to write; one transaction in ten is rolled back, and one in five stays open for long. */
export function startKeyWriters(options: KeyWritersOptions): KeyWriters {
  const committed = new Map<string, string[]>();
  const stopping = new AbortController();
  const running = Promise.all(
    Array.from({ length: options.writers }, (_, index) => write(options, index, committed, stopping.signal)),
  );
  running.catch(() => undefined);
  return {
    committed,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function write(
  { url, topic, seed, keysEach, openMs }: KeyWritersOptions,
  writer: number,
  committed: Map<string, string[]>,
  stop: AbortSignal,
): Promise<void> {
  const random = seededRandom(seed * 1_000 + writer);
  for (let n = 1; !stop.aborted; n += 1) {
    const labels = Array.from({ length: 1 + random.below(3) }, (_, index) => {
      const key = `w${writer}k${random.below(keysEach)}`;
      return { key, label: `${key}:${n}.${index}` };
    });
    const transaction = await openTransaction(url);
    await storeMessages(
      transaction,
      topic,
      labels.map(({ key, label }) => ({ key, payload: JSON.stringify(label) })),
    );
    await delay(random.chance(0.2) ? random.below(openMs) : 2);
    if (random.chance(0.1)) await transaction.rollback();
    else {
      await transaction.commit();
      for (const { key, label } of labels) committed.set(key, [...(committed.get(key) ?? []), label]);
    }
  }
}
