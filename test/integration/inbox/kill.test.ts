import { afterEach, expect, test } from 'vitest';
import { InboxStage, range } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { startProgram } from '../../support/processes/program.ts';

let stage: InboxStage;
afterEach(() => stage.end());

// The broker waits 10 s for the killed member before it gives its partitions to the next.
const withinMs = 240_000;

async function killedAt(point: 'inbox:handled' | 'inbox:committed'): Promise<void> {
  stage = await InboxStage.create(1);
  await stage.publish(range(1, 10).map((n) => ({ n })));
  const signal = await startProgram('consumer-main', {
    ...stage.elsewhere,
    name: 'killed',
    crash: { point, pass: 4 },
  }).exited;
  expect(signal).toBe('SIGKILL');
}

test('a consumer killed between the commit and the offset leaves each effect once', {
  tags: ['effect-once'],
  timeout: withinMs,
}, async () => {
  await killedAt('inbox:committed');
  expect(await stage.effects()).toEqual(range(1, 4));
  // A consumer that is slow commits offsets on its way, but not that of the message after which it was killed.
  const [offset = -1] = await stage.committedOffsets();
  expect(offset).toBeLessThan(4);

  const next = await stage.consume('next');
  await until(() => next.counts().handled === 6, 60_000);

  expect(next.counts()).toMatchObject({ duplicates: 4 - Math.max(0, offset) });
  expect(await stage.effects()).toEqual(range(1, 10));
});
