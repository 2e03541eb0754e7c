import { afterEach, expect, test } from 'vitest';
import { InboxStage, range } from '../support/inbox-stage.ts';
import { until } from '../support/until.ts';

let stage: InboxStage;
afterEach(() => stage.end());

test('consumers that join and leave while messages flow leave each effect once and in order', async () => {
  stage = await InboxStage.create(4);
  let next = 1;
  const ending = new AbortController();
  const flow = (async () => {
    while (!ending.signal.aborted) {
      await stage.publish(range(next, next + 19).map((n) => ({ n, partition: n % 4 })));
      next += 20;
    }
  })();

  const first = await stage.consume('first');
  await until(async () => (await stage.effectsBy('first')) > 20);
  const second = await stage.consume('second');
  await until(async () => (await stage.effectsBy('second')) > 20);
  await first.stop();
  const third = await stage.consume('third');
  await until(async () => (await stage.effectsBy('third')) > 20);
  await second.stop();
  ending.abort();
  await flow;
  const sent = next - 1;
  await until(async () => (await stage.effects()).length >= sent);

  expect((await stage.effects()).toSorted((a, b) => a - b)).toEqual(range(1, sent));
  for (const partition of range(0, 3)) {
    const effects = await stage.effects(partition);
    expect(effects).toEqual(effects.toSorted((a, b) => a - b));
  }
  expect(third.counts().failures).toBe(0);
});

test('a consumer that stops lets the message in hand end, and the next one goes on behind it', async () => {
  stage = await InboxStage.create(1);
  await stage.publish(range(1, 3).map((n) => ({ n })));
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begun = false;
  const first = await stage.consume('first', {
    afterEffect: async () => {
      begun = true;
      await gate;
    },
  });
  await until(() => begun);
  const stopped = first.stop();
  release();
  await stopped;

  expect(first.counts()).toMatchObject({ processed: 1 });
  expect(await stage.committedOffsets()).toEqual([1]);

  const second = await stage.consume('second');
  await until(() => second.counts().processed === 2);
  expect(second.counts().duplicates).toBe(0);
  expect(await stage.effects()).toEqual([1, 2, 3]);
});
