import { afterEach, beforeEach, expect, test } from 'vitest';
import { fakeTime, pass, realTime } from '../../support/fixtures/fake-time.ts';
import { consumerBench, numbered } from './consumer-bench.ts';

beforeEach(fakeTime);
afterEach(realTime);

/** A consumer whose group has a parked key that waits for its workflow, and how often that was started. */
async function stage() {
  const bench = await consumerBench();
  bench.database.on('k.told_at is null', () => [
    {
      keyId: 'key-1',
      workflowId: 'w',
      topic: 'orders',
      key: 'k',
      dueInMs: 0,
      replace: 'never',
      toldAt: null,
    },
  ]);
  const running = await bench.consumer.start();
  return {
    ...bench,
    running,
    join: () => bench.sources[0].subscriptions[0]?.assigned([]),
    starts: () => bench.started.length,
  };
}

test('workflows are started once the first message has ended', async () => {
  const { join, running, sources, starts } = await stage();
  join();
  await pass(500);
  expect(starts()).toBe(0);
  await sources[0].deliver(numbered(1));
  await pass(110);
  expect(starts()).toBe(1);
  await running.stop();
});

test('a consumer without messages starts workflows two seconds after it has joined', async () => {
  const { join, running, starts } = await stage();
  await pass(5_000);
  join();
  await pass(1_990);
  expect(starts()).toBe(0);
  await pass(120);
  expect(starts()).toBe(1);
  await running.stop();
});

test('a consumer that cannot join starts workflows after ten seconds', async () => {
  const { running, starts } = await stage();
  await pass(9_990);
  expect(starts()).toBe(0);
  await pass(120);
  expect(starts()).toBe(1);
  await running.stop();
});

test('a consumer that stops before its first message starts no workflow', async () => {
  const { running, starts } = await stage();
  await pass(500);
  await running.stop();
  await pass(15_000);
  expect(starts()).toBe(0);
});
