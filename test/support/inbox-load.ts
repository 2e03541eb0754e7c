import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { type InboxStage, range } from './inbox-stage.ts';
import { until } from './until.ts';

const everyMs = 100;
const atOnce = 8;

/** Messages that keep coming, taking turns over the partitions. */
export interface InboxLoad {
  /** How many were sent so far. */
  sent(): number;
  /** Ends it; answers how many were sent. */
  stop(): Promise<number>;
}

/** Begins to publish about 80 messages a second, numbered from 1. */
export function startInboxLoad(stage: InboxStage, partitions: number): InboxLoad {
  const ending = new AbortController();
  let sent = 0;
  const running = (async () => {
    while (!ending.signal.aborted) {
      await stage.publish(range(sent + 1, sent + atOnce).map((n) => ({ n, partition: n % partitions })));
      sent += atOnce;
      await delay(everyMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  })();
  // What fails is told to who stops it, which may be much later.
  running.catch(() => undefined);
  return {
    sent: () => sent,
    async stop() {
      ending.abort();
      await running;
      return sent;
    },
  };
}

/** Waits until everything has had its effect, and insists: each once, none lost, every partition in its order. */
export async function expectEffectsOnce(stage: InboxStage, sent: number, partitions: number): Promise<void> {
  await until(async () => (await stage.effects()).length >= sent, 150_000);
  expect((await stage.effects()).toSorted((a, b) => a - b)).toEqual(range(1, sent));
  for (const partition of range(0, partitions - 1)) {
    const effects = await stage.effects(partition);
    expect(effects).toEqual(effects.toSorted((a, b) => a - b));
  }
}
