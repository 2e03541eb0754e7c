import { afterEach, expect, test } from 'vitest';
import { expectEffectsOnce, startInboxLoad } from '../support/fixtures/inbox-load.ts';
import { InboxStage } from '../support/fixtures/inbox-stage.ts';
import { until } from '../support/fixtures/until.ts';
import { type Program, startProgram } from '../support/processes/program.ts';

// One, so that no other partition's transaction is frozen in its middle: its locks would stop the successor.
const partitions = 1;

let stage: InboxStage;
let frozen: Program | undefined;
afterEach(async () => {
  await frozen?.kill();
  await stage.end();
});

test('I4 I5 F17: a consumer frozen past the session of its group repeats no effect when it resumes, and rejoins', {
  tags: ['effect-once'],
  timeout: 600_000,
}, async () => {
  stage = await InboxStage.create(partitions);
  const load = startInboxLoad(stage, partitions);
  const victim = startProgram('consumer-main', {
    ...stage.elsewhere,
    name: 'frozen',
    crash: { point: 'inbox:committed', pass: 40, signal: 'SIGSTOP' },
  });
  frozen = victim;
  await until(async () => (await stage.effectsBy('frozen')) >= 40, 150_000);

  // The broker waits 10 s for the frozen member before it gives all partitions to the next.
  const next = await stage.consume('next');
  await until(() => next.counts().handled > 100, 150_000);
  const partitionsOfNext = next.events.findLast(({ type }) => type === 'assigned');
  expect(partitionsOfNext).toMatchObject({ partitions: [{}] });
  const byFrozen = await stage.effectsBy('frozen');
  const toldByFrozen = victim.lines.length;

  process.kill(victim.pid, 'SIGCONT');
  await until(() => victim.lines.slice(toldByFrozen).includes('assigned'), 150_000);
  await next.stop();
  // As a member again it works, and no longer as the zombie that it was.
  await until(async () => (await stage.effectsBy('frozen')) > byFrozen, 150_000);
  const sent = await load.stop();
  await expectEffectsOnce(stage, sent, partitions);

  expect(next.counts().duplicates).toBeGreaterThan(0);
});
