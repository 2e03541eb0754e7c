import { afterEach, expect, onTestFinished, test } from 'vitest';
import { faultRounds, faultSeeds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { expectEffectsOnce, startInboxLoad } from '../support/fixtures/inbox-load.ts';
import { InboxStage } from '../support/fixtures/inbox-stage.ts';
import { seededRandom } from '../support/fixtures/random.ts';
import { until } from '../support/fixtures/until.ts';
import { startProgram } from '../support/processes/program.ts';

const partitions = 2;

let stage: InboxStage;
afterEach(() => stage.end());

test.for(faultSeeds(17))(
  'I4 I5 F17: consumers killed between the commit of effects and of offsets leave each effect once (seed %i)',
  { tags: ['effect-once'], timeout: faultTimeoutMs(500_000) },
  async (seed) => {
    const random = seededRandom(seed);
    stage = await InboxStage.create(partitions);
    const load = startInboxLoad(stage, partitions);
    const rounds = faultRounds(2);
    for (let round = 1; round <= rounds; round += 1) {
      const name = `killed-${round}`;
      const commits = 20 + random.below(60);
      const doomed = startProgram('consumer-main', {
        ...stage.elsewhere,
        name,
        crash: { point: 'inbox:committed', pass: commits },
      });
      onTestFinished(() => doomed.kill());
      expect(await doomed.exited).toBe('SIGKILL');
      expect(await stage.effectsBy(name)).toBeGreaterThanOrEqual(commits);
    }
    const last = await stage.consume('last');
    // The broker waits for the session of the one that was killed.
    await until(() => last.counts().handled > 0, 120_000);
    const sent = await load.stop();
    await expectEffectsOnce(stage, sent, partitions);

    // What was committed and not told to the broker came again: the fault was one.
    expect(last.counts().duplicates).toBeGreaterThan(0);
  },
);
