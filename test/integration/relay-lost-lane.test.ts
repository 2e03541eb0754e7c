import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type TestContext, test } from 'vitest';
import { leaseMs } from '../../src/store/lane/lease.ts';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';
import { until } from '../support/fixtures/until.ts';

// Each waits for as long as a lease is old, so they wait side by side.

async function benchOf({ onTestFinished }: TestContext): Promise<LaneBench> {
  const bench = await laneBench();
  onTestFinished(() => bench.drop());
  await bench.send('A');
  return bench;
}

/** Another owner takes the lane, as one does for whom this one is dead. */
function takeLane(bench: LaneBench): Promise<unknown> {
  return bench.database.query('update outbox.lane set owner = $1', [randomUUID()]);
}

/** Drains with a broker that tells its number of partitions only when what was claimed before is old. */
function drainSlowly(bench: LaneBench, meanwhile: () => unknown): Promise<unknown> {
  const transport = Object.assign(bench.broker, {
    partitionCount: async () => {
      const askedAt = performance.now();
      await meanwhile();
      await until(() => performance.now() - askedAt > leaseMs / 2 + 50);
      return 1;
    },
  });
  return bench.drain({ route: { name: bench.topic, rules: bench.rules, transport } });
}

test.concurrent('a lane that is taken during a slow publish stops the publish', async (context) => {
  const bench = await benchOf(context);
  const { expect } = context;
  let stopped: unknown;
  bench.broker.before = async ({ signal }) => {
    await takeLane(bench);
    // Far beyond the next renewal: a publish that nobody stops goes on.
    stopped = await once(signal, 'abort', { signal: AbortSignal.timeout(leaseMs) }).then(
      () => 'stopped',
      () => 'not stopped',
    );
  };

  await bench.drain();

  expect(stopped).toBe('stopped');
  expect(bench.events).toContainEqual({ type: 'lane-lost', ...bench.lane });
});

test.concurrent('a claim that is old is not sent when the lane was taken since', async (context) => {
  const bench = await benchOf(context);
  const { expect } = context;

  await drainSlowly(bench, () => takeLane(bench));

  expect(bench.broker.labels).toEqual([]);
  expect(bench.events).toContainEqual({ type: 'lane-lost', ...bench.lane });
});

test.concurrent('a claim that is old is sent, once, where the lane is ours still', async (context) => {
  const bench = await benchOf(context);
  const { expect } = context;

  await drainSlowly(bench, () => undefined);

  expect(bench.broker.batches).toHaveLength(1);
  expect(bench.broker.labels).toEqual(['A']);
  expect(await bench.states('A')).toEqual(['published']);
});
