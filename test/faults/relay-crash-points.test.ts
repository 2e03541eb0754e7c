import { expect, type TestContext, test } from 'vitest';
import type { CrashPoint } from '../../src/core/crash-point.ts';
import { cancel } from '../../src/outbox/change.ts';
import { send } from '../../src/outbox/send.ts';
import { judgeJournal, lastBatches, unexcusedDuplicates } from '../support/fixtures/journal-check.ts';
import { startLoad } from '../support/fixtures/load.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders', { retry: ['1h'] });

/** A lease of 10 s that was renewed at the death, and what taking over costs: a second, several on a busy machine. */
const takeoverWithinMs = 20_000;

/** Batches that are claimed, but not published, when the relay dies at this point. */
const repeats: ReadonlyMap<CrashPoint, boolean> = new Map([
  ['relay:claimed', false],
  ['relay:acknowledged', true],
  ['relay:settled', false],
]);

async function diesAt(context: TestContext, point: CrashPoint, repeated: boolean): Promise<void> {
  const stage = await openStage(context, { topics: [orders] });
  const victim = await stage.relayProcess({ crash: { point, pass: 12, signal: 'SIGKILL' } });
  const load = startLoad(stage, orders, { perSecond: 200 });
  await victim.exited;
  const left = await stage.journal();
  const before = await stage.arrived();
  await stage.relay();
  const readyAt = performance.now();
  await until(async () => (await stage.arrived()) > before, 60_000);
  expect(performance.now() - readyAt).toBeLessThan(takeoverWithinMs);
  const committed = await load.stop();
  await stage.untilDelivered(committed, 'orders');

  const journal = await stage.journal();
  const verdict = judgeJournal(journal, committed);
  expect(verdict).toMatchObject({ lost: [], ghosts: [], disordered: [] });
  const lastBatch = left.filter(({ batch }) => batch === left.at(-1)?.batch);
  expect(verdict.duplicates).toBe(repeated ? lastBatch.length : 0);
  expect(unexcusedDuplicates(journal, lastBatches(journal, [victim.publisher]))).toEqual([]);
}

test.concurrent.for([...repeats])(
  'I1 I3 I11 I13 F02 F03: a relay that dies at %s loses nothing, and repeats its last batch only if that was not settled: %s',
  { timeout: 400_000 },
  ([point, repeated], context) => diesAt(context, point, repeated),
);

test.concurrent('I5 F02: messages that a relay may have published before it died can no longer be canceled, even if they are refused afterwards', {
  tags: ['cancel-holds'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const victim = await stage.relayProcess({
    crash: { point: 'relay:acknowledged', pass: 1, signal: 'SIGKILL' },
  });
  const { id } = await stage.commit((tx) => send(tx, orders, { n: 1 }, { key: 'k' }));
  await victim.exited;
  expect(await stage.commit((tx) => cancel(tx, orders, { id }))).toBe('too-late');

  const later = await stage.commit((tx) => send(tx, orders, { n: 2 }, { key: 'j' }));
  await stage.relay({}, { refuse: () => ({ kind: 'rejected', error: 'not now' }) });
  await until(async () => (await stage.stateOf(id)) === 'retrying', 60_000);
  await until(async () => (await stage.stateOf(later.id)) === 'retrying');

  expect(await stage.commit((tx) => cancel(tx, orders, { id }))).toBe('too-late');
  expect(await stage.journal()).toMatchObject([{ id }]);
  expect(await stage.stateOf(id)).toBe('retrying');
});
