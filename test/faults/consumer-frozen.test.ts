import { afterEach, expect, test } from 'vitest';
import { expectEffectsOnce, startInboxLoad } from '../support/fixtures/inbox-load.ts';
import { InboxStage } from '../support/fixtures/inbox-stage.ts';
import { until } from '../support/fixtures/until.ts';
import { type FrozenConsumer, startFrozenConsumer } from '../support/processes/frozen-consumer.ts';

// One, so that no other partition's transaction is frozen in its middle: its locks would stop the successor.
const partitions = 1;

let stage: InboxStage;
let frozen: FrozenConsumer | undefined;
afterEach(async () => {
  await frozen?.end();
  await stage.end();
});

test('I4 I5 F17: a consumer frozen past the session of its group repeats no effect when it resumes, and rejoins', {
  tags: ['effect-once'],
  timeout: 600_000,
}, async () => {
  stage = await InboxStage.create(partitions);
  const load = startInboxLoad(stage, partitions);
  const victim = startFrozenConsumer({
    url: stage.url,
    brokers: stage.brokers,
    address: stage.topic.rules.address,
    group: stage.group,
    name: 'frozen',
    stopAt: { commits: 40, signal: 'SIGSTOP' },
  });
  frozen = victim;
  await until(async () => (await stage.effectsBy('frozen')) >= 40, 150_000);

  // The broker waits 10 s for the frozen member before it gives all partitions to the next.
  const next = await stage.consume('next');
  await until(() => next.counts().handled > 100, 150_000);
  const partitionsOfNext = next.events.findLast(({ type }) => type === 'assigned');
  expect(partitionsOfNext).toMatchObject({ partitions: [{}] });
  const byFrozen = await stage.effectsBy('frozen');
  const toldByFrozen = victim.events.length;

  victim.thaw();
  await until(() => victim.events.slice(toldByFrozen).some(({ type }) => type === 'assigned'), 150_000);
  await next.stop();
  // As a member again it works, and no longer as the zombie that it was.
  await until(async () => (await stage.effectsBy('frozen')) > byFrozen, 150_000);
  const sent = await load.stop();
  await expectEffectsOnce(stage, sent, partitions);

  expect(next.counts().duplicates).toBeGreaterThan(0);
});
