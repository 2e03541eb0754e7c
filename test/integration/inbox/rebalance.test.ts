import { afterEach, expect, test, vi } from 'vitest';
import { expectEffectsOnce, startInboxLoad } from '../../support/fixtures/inbox-load.ts';
import { InboxStage, range } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';

vi.setConfig({ testTimeout: 180_000 });

let stage: InboxStage;
afterEach(() => stage.end());

test('consumers that join and leave while messages flow have each effect once and in order', async () => {
  stage = await InboxStage.create(4);
  const load = startInboxLoad(stage, 4);

  const first = await stage.consume('first');
  await until(async () => (await stage.effectsBy('first')) > 20);
  const second = await stage.consume('second');
  await until(async () => (await stage.effectsBy('second')) > 20);
  await first.stop();
  const third = await stage.consume('third');
  await until(async () => (await stage.effectsBy('third')) > 20);
  await second.stop();

  await expectEffectsOnce(stage, await load.stop(), 4);
  expect(third.counts().failedAttempts).toBe(0);
});

test('a consumer that stops finishes the message in hand, and the next one continues behind it', async () => {
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

  expect(first.counts()).toMatchObject({ handled: 1 });
  expect(await stage.committedOffsets()).toEqual([1]);

  const second = await stage.consume('second');
  await until(() => second.counts().handled === 2);
  expect(second.counts().duplicates).toBe(0);
  expect(await stage.effects()).toEqual([1, 2, 3]);
});
