import { afterEach, expect, test } from 'vitest';
import { faultRounds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { expectEffectsOnce, startInboxLoad } from '../support/fixtures/inbox-load.ts';
import { InboxStage, type StagedConsumer } from '../support/fixtures/inbox-stage.ts';
import { until } from '../support/fixtures/until.ts';

const partitions = 4;
const everyMs = 3_000;

let stage: InboxStage;
afterEach(() => stage.end());

const handled = ({ events }: StagedConsumer): number =>
  events.filter(({ type }) => type === 'handled').length;
const assignments = ({ events }: StagedConsumer): number =>
  events.filter(({ type }) => type === 'assigned').length;

test('I4 I5 F17: members that join and leave every 3 s under load leave each effect once, in order, and lose nothing', {
  tags: ['effect-once'],
  timeout: faultTimeoutMs(600_000),
}, async () => {
  stage = await InboxStage.create(partitions);
  const load = startInboxLoad(stage, partitions);
  const present = [await stage.consume('member-0')];
  const all = [...present];
  const rounds = faultRounds(7);
  for (let round = 1; round <= rounds; round += 1) {
    const roundEndsAt = performance.now() + everyMs;
    const joining = stage.consume(`member-${round}`);
    // Never more members than partitions: one of them would have nothing to do.
    if (round % 2 === 0 || present.length === partitions) await present.shift()?.stop();
    const joined = await joining;
    present.push(joined);
    all.push(joined);
    // Each of them works before the next storm, so that every round takes partitions from somebody busy.
    await until(() => handled(joined) > 0 && performance.now() >= roundEndsAt, 90_000);
  }
  const sent = await load.stop();
  await expectEffectsOnce(stage, sent, partitions);

  expect(all).toHaveLength(rounds + 1);
  expect(all.every((member) => handled(member) > 0)).toBe(true);
  // The remaining member sees the others come and go.
  const seen = all.reduce((sum, member) => sum + assignments(member), 0);
  expect(seen).toBeGreaterThanOrEqual(2 * rounds);
  expect(all.reduce((sum, member) => sum + member.counts().parked, 0)).toBe(0);
});
