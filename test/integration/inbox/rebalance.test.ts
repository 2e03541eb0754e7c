import { afterEach, expect, test } from 'vitest';
import { InboxStage, range } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';

let stage: InboxStage;
afterEach(() => stage.end());

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
