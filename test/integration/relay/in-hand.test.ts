import { expect, onTestFinished, test } from 'vitest';
import { LaneDrains } from '../../../src/relay/lane-drains.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';

test('a batch is in hand from its claim until it is settled, and nothing before and after', async () => {
  const fixture = await laneFixture();
  onTestFinished(() => fixture.drop());
  await fixture.send('a');
  const drains = new LaneDrains(() => undefined);
  const onTheWire: number[] = [];
  fixture.broker.before = async () => void onTheWire.push(drains.inHand);
  expect(drains.inHand).toBe(0);

  await drains.run(fixture.lane, fixture.drainInput());

  expect(onTheWire).toEqual([1]);
  expect(drains.inHand).toBe(0);
});
