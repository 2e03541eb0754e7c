import { afterEach, beforeEach, expect, test } from 'vitest';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { consumerBench } from './consumer-bench.ts';
import { begun } from './drain-bench.ts';
import { due } from './watcher-bench.ts';

beforeEach(fakeTime);
afterEach(realTime);

test('a stop ends the looks at once and waits for the host of workflows', async () => {
  const { consumer, database, steps, world } = await consumerBench({ settings: { deadLetters: true } });
  const hosting = gate();
  world.hostEnds = () => hosting.opened;
  const running = await consumer.start();
  await pass(60);
  const stopping = soFar(running.stop());
  await pass(0);
  const looks = database.said('outbox.due_keys').length;
  await pass(3_000);
  expect(database.said('outbox.due_keys')).toHaveLength(looks);
  expect(stopping.state).toBe('open');
  expect(steps).not.toContain('dead letters of orders');
  hosting.open();
  await pass(0);

  expect(stopping.state).toBe('resolved');
  expect(steps.slice(-2)).toEqual(['workflows', 'dead letters of orders']);
});

test('a stop waits for the try of a stand-in, and begins no other', async () => {
  const [trying, handling] = [gate(), gate()];
  const { consumer, database, world } = await consumerBench({
    settings: { parkedConcurrency: 1 },
    handler: () => {
      trying.open();
      return handling.opened;
    },
  });
  world.hosting = false;
  database.on('outbox.due_keys', () => [due(1), due(2)]);
  database.on('outbox.begin_try', () => [begun(1)]);
  const running = await consumer.start();
  await trying.opened;
  const stopping = soFar(running.stop());
  await pass(2_000);
  expect(stopping.state).toBe('open');
  handling.open();
  await pass(0);

  expect([stopping.state, running.counts().handled]).toEqual(['resolved', 1]);
  expect(database.said('outbox.begin_try')).toHaveLength(1);
});
