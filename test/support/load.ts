import { setTimeout as delay } from 'node:timers/promises';
import { sendBatch } from '../../src/outbox/send.ts';
import type { Committed } from './journal-check.ts';
import type { Numbered, Stage } from './stage.ts';
import type { Topic } from '../../src/core/topic.ts';

export interface LoadOptions {
  readonly perSecond: number;
  /** Messages go to these keys in turn. @defaultValue 8 */
  readonly keys?: number;
}

/** A writer that commits numbered messages until it is stopped. */
export interface Load {
  /** What was committed so far. */
  readonly committed: Committed;
  /** Ends the writer after its last transaction. */
  stop(): Promise<Committed>;
}

const everyMs = 20;
/** Every so many transactions one is rolled back: what it sent must never arrive. */
const rollbackEvery = 7;

class RolledBack extends Error {}

/** Begins to send to a topic, one transaction after the other, some of which are rolled back. */
export function startLoad(stage: Stage, topic: Topic<Numbered>, options: LoadOptions): Load {
  const committed = new Map<string, number[]>();
  const keys = Array.from({ length: options.keys ?? 8 }, (_, index) => `k${index}`);
  const stopping = new AbortController();
  let n = 0;

  async function commitOne(count: number, rollBack: boolean): Promise<void> {
    const messages = Array.from({ length: count }, () => {
      n += 1;
      return { payload: { n }, key: keys[n % keys.length] ?? 'k0' };
    });
    try {
      await stage.commit(async (tx) => {
        await sendBatch(tx, topic, messages);
        if (rollBack) throw new RolledBack();
      });
    } catch (error) {
      if (error instanceof RolledBack) return;
      throw error;
    }
    for (const { key, payload } of messages) {
      const numbers = committed.get(key) ?? [];
      committed.set(key, numbers);
      numbers.push(payload.n);
    }
  }

  async function run(): Promise<void> {
    const startedAt = performance.now();
    let sent = 0;
    for (let round = 1; !stopping.signal.aborted; round += 1) {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * options.perSecond) - sent;
      if (due > 0) await commitOne(due, round % rollbackEvery === 0);
      sent += Math.max(due, 0);
      await delay(everyMs);
    }
  }

  const running = run();
  running.catch(() => undefined);
  return {
    committed,
    async stop() {
      stopping.abort();
      await running;
      return committed;
    },
  };
}
