import { expect, inject, type TestContext, test } from 'vitest';
import { operations } from '../../../src/app/operations/operations.ts';
import type { InvariantResult } from '../../../src/operations/verify/report.ts';
import { schedule, unschedule } from '../../../src/outbox/schedule.ts';
import { messageScheduleId } from '../../../src/temporal/relay/repeater.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const ticks = numbered('ticks');

const put = (stage: Stage, name: string) =>
  stage.commit((tx) => schedule(tx, name, ticks, { n: 1 }, { every: '1h' }));

const handleOf = (stage: Stage, name: string) =>
  stage.temporal.schedule.getHandle(messageScheduleId(stage.installation, name));

/** Makes every change of a schedule so old that Temporal should have it. */
const age = (stage: Stage) =>
  stage.database.query(`update outbox.schedule set updated_at = updated_at - interval '1 hour'`);

/** What verify says about schedules. */
async function compared(
  context: TestContext,
  stage: Stage,
  address: string = inject('temporalAddress'),
): Promise<InvariantResult | undefined> {
  const at = operations({ database: { url: stage.url }, temporal: { address } });
  context.onTestFinished(() => at.close());
  const { invariants } = await at.verify();
  return invariants.find(({ invariant }) => invariant === 'schedules in Temporal');
}

/** A stage whose schedules Temporal has followed, without a relay that would repair them. */
async function followed(context: TestContext, ...names: readonly string[]): Promise<Stage> {
  const stage = await openStage(context, { topics: [ticks] });
  const relay = await stage.relay();
  for (const name of names) await put(stage, name);
  await until(
    async () =>
      (
        await stage.database.query(
          'select from outbox.schedule where followed_version is distinct from version',
        )
      ).length === 0,
  );
  await relay.stop();
  return stage;
}

test('verify names a schedule that Temporal lacks, one that differs and one without a row, each with what to do', {
  tags: ['repeating-messages'],
}, async (context) => {
  const stage = await followed(context, 'deleted', 'altered', 'stray', 'kept');
  await age(stage);
  expect(await compared(context, stage)).toMatchObject({ ok: true, checked: 4, violations: 0, notes: {} });

  await handleOf(stage, 'deleted').delete();
  await handleOf(stage, 'altered').update((before) => ({
    ...before,
    spec: { intervals: [{ every: '2h' }] },
  }));
  await stage.database.query(`delete from outbox.schedule where name = 'stray'`);
  context.onTestFinished(() => handleOf(stage, 'stray').delete());

  // Temporal's list of schedules may be some seconds behind.
  await expect
    .poll(async () => (await compared(context, stage))?.first.map(({ id }) => id).toSorted(), {
      timeout: 30_000,
    })
    .toEqual(['altered', 'deleted', 'stray']);
  const result = await compared(context, stage);
  expect(result).toMatchObject({ ok: false, checked: 3, violations: 3 });
  expect(Object.fromEntries(result?.first.map(({ id, topic, what }) => [id, [topic, what]]) ?? [])).toEqual({
    deleted: ['ticks', expect.stringMatching(/has no schedule .* A running relay creates it/)],
    altered: ['ticks', expect.stringMatching(/another version .* A running relay repairs it/)],
    stray: [null, expect.stringMatching(/without a row.* a running relay deletes it at its next time/)],
  });

  await stage.relay();
  await put(stage, 'stray');
  await expect
    .poll(
      async () => {
        await age(stage);
        return compared(context, stage);
      },
      { timeout: 60_000 },
    )
    .toMatchObject({ ok: true, checked: 4 });
});

test('verify does not judge what was scheduled or removed a moment ago', async (context) => {
  const stage = await followed(context, 'removed');
  await stage.commit((tx) => unschedule(tx, 'removed'));
  await put(stage, 'new');
  expect(await compared(context, stage)).toMatchObject({ ok: true, checked: 1, violations: 0 });

  await age(stage);
  await expect
    .poll(async () => (await compared(context, stage))?.first.map(({ id }) => id).toSorted(), {
      timeout: 30_000,
    })
    .toEqual(['new', 'removed']);
});

test('while Temporal is away verify compares no schedule, says how many, and judges the rest', async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  for (const name of ['a', 'b']) await put(stage, name);
  await age(stage);

  expect(await compared(context, stage, '127.0.0.1:1')).toMatchObject({
    ok: true,
    checked: 0,
    notes: { notCompared: 2 },
  });
});
