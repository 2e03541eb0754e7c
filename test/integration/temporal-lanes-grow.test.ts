import { expect, test, vi } from 'vitest';
import { changeLanes } from '../../src/operations/lanes.ts';
import { storeMessages } from '../../src/store/write.ts';
import { numbered, openStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

// Workers, servers and lanes start in seconds on a quiet machine, and in ten times that on a busy one.
vi.setConfig({ testTimeout: 300_000 });

/** After so long without one lane more none will come; a lane takes milliseconds. */
const standstillMs = 10_000;

test('a relay that started with one lane drains 40 side by side, on its connections of before, when there are so many', async (context) => {
  const stage = await openStage(context, { topics: [numbered('orders')] });
  // A lane that lingers keeps what it occupies until long after the end of this test.
  await stage.relay({ settings: { linger: '60s' } });
  await storeMessages(stage.database, 'orders', [{ payload: '{"n":0}' }]);
  await until(async () => (await stage.arrived()) === 1, 60_000);
  expect(await changeLanes(stage.database, 'orders', 40, { actor: 'test' })).toMatchObject({ done: true });

  const keys = await stage.database.query<{ key: string }>(
    `select min('k' || n) as key from generate_series(1, 2000) n group by outbox.lane_of('k' || n, null, 40)`,
  );
  expect(keys.length).toBe(40);
  await storeMessages(
    stage.database,
    'orders',
    keys.map(({ key }) => ({ key, payload: '{"n":1}' })),
  );
  // At one time, not in turns: a lane that lingers keeps its slot. A busy machine starts them slowly, but goes on.
  let [most, grewAt] = [0, performance.now()];
  await until(async () => {
    const { length: owned } = await stage.database.query('select from outbox.lane where owner is not null');
    if (owned > most) [most, grewAt] = [owned, performance.now()];
    return most === 40 || performance.now() - grewAt > standstillMs;
  }, 150_000);
  expect(most, 'lanes that are drained at one time').toBe(40);
  await until(async () => (await stage.arrived()) === 41, 60_000);
});
