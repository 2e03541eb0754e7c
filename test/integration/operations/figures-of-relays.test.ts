import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { statusOf } from '../../../src/operations/status.ts';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { type GroupLag, writeRelay } from '../../../src/store/installation/relays.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { quietRelay } from '../../support/fixtures/quiet-figures.ts';

test('figures have the lags that any living relay knows, as it was seen last, and the clock that is off most', async ({
  onTestFinished,
}) => {
  const lanes = await laneFixture();
  onTestFinished(() => lanes.drop());
  const { database } = lanes;
  const lag = (topic: string, messages: number) => ({ group: 'billing', topic, messages });
  const write = async (
    clockOffsetMs: number,
    lags: readonly GroupLag[],
    secondsAgo: number,
  ): Promise<void> => {
    const id = randomUUID();
    const host = `host-${clockOffsetMs}`;
    await writeRelay(database, { ...quietRelay, host, id, clockOffsetMs, lags });
    await database.query(`update outbox.relay set seen_at = seen_at - $2 * interval '1 s' where id = $1`, [
      id,
      secondsAgo,
    ]);
  };
  await write(1_000, [lag('orders', 12)], 0);
  await write(-40_000, [lag('orders', 99), lag('parcels', 3)], 4);
  // The last one that was started knows nothing yet; one that is dead does not count.
  await write(20, [], 0);
  await write(90_000, [lag('refunds', 1)], 60);

  const { clocks, lags } = await readFigures(database);

  expect(lags).toHaveLength(2);
  expect(lags).toEqual(expect.arrayContaining([lag('orders', 12), lag('parcels', 3)]));
  expect(clocks).toEqual([
    { host: 'host--40000', aheadMs: -40_000 },
    { host: 'host-1000', aheadMs: 1_000 },
    { host: 'host-20', aheadMs: 20 },
  ]);
  expect((await statusOf(database)).lags).toEqual(lags);
});
