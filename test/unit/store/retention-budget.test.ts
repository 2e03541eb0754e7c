import { expect, test } from 'vitest';
import { resolveRetention } from '../../../src/core/retention.ts';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { applyRetention } from '../../../src/store/retention/retention.ts';
import { fakeTimeUntilEnd, pass, soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('a round that never ends gives up after four of the five minutes until the next one', async () => {
  fakeTimeUntilEnd();
  let pageAt = 0;
  const database = new ScriptedDatabase();
  database
    .on('as "windowMs"', [{ windowMs: null }])
    .on('from outbox.lane l where l.snapshot is not null', [
      { topic: 'orders', lane: 0, upTo: '9', suspectUpTo: '9', suspected: false },
    ])
    .on("m.state = 'ready' and m.position > 0", async () => {
      await delay(1_000);
      pageAt = performance.now();
      return [{ moved: 1, next: '1' }];
    })
    .on('', []);
  const startedAt = performance.now();
  const round = soFar(
    applyRetention({
      database,
      rules: resolveRetention({}),
      signal: new AbortController().signal,
      progress: () => undefined,
    }),
  );
  while (round.state === 'open' && performance.now() - startedAt < defaultTimings.archiveIntervalMs)
    await pass(500);

  expect(round).toMatchObject({ state: 'resolved', value: { complete: false } });
  expect(Math.round((pageAt - startedAt) / 1_000), 'seconds until the end of its last page').toBe(240);
});
