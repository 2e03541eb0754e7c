import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type TestContext, test } from 'vitest';
import { leaseMs } from '../../../src/store/lane/lease.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { until } from '../../support/fixtures/until.ts';

// Each waits for as long as a lease is old, so they wait side by side.

async function fixtureOf({ onTestFinished }: TestContext): Promise<LaneFixture> {
  const fixture = await laneFixture();
  onTestFinished(() => fixture.drop());
  await fixture.send('A');
  return fixture;
}

/** Another owner takes the lane, as one does for whom this one is dead. */
function takeLane(fixture: LaneFixture): Promise<unknown> {
  return fixture.database.query('update outbox.lane set owner = $1', [randomUUID()]);
}

/** Drains with a broker that returns its number of partitions only once the claim before is old. */
function drainSlowly(fixture: LaneFixture, meanwhile: () => unknown): Promise<unknown> {
  const transport = Object.assign(fixture.broker, {
    partitionCount: async () => {
      const askedAt = performance.now();
      await meanwhile();
      await until(() => performance.now() - askedAt > leaseMs / 2 + 50);
      return 1;
    },
  });
  return fixture.drain({ route: { name: fixture.topic, rules: fixture.rules, transport } });
}

test.concurrent('losing the lane during a slow publish stops the publish', async (context) => {
  const fixture = await fixtureOf(context);
  const { expect } = context;
  let stopped: unknown;
  fixture.broker.before = async ({ signal }) => {
    await takeLane(fixture);
    // Far beyond the next renewal: a publish that is not stopped continues.
    stopped = await once(signal, 'abort', { signal: AbortSignal.timeout(leaseMs) }).then(
      () => 'stopped',
      () => 'not stopped',
    );
  };

  await fixture.drain();

  expect(stopped).toBe('stopped');
  expect(fixture.events).toContainEqual({ type: 'lane-lost', ...fixture.lane });
});

test.concurrent('an old claim is not sent when the lane has been taken since', async (context) => {
  const fixture = await fixtureOf(context);
  const { expect } = context;

  await drainSlowly(fixture, () => takeLane(fixture));

  expect(fixture.broker.labels).toEqual([]);
  expect(fixture.events).toContainEqual({ type: 'lane-lost', ...fixture.lane });
});

test.concurrent('an old claim is sent once if the lane is still owned', async (context) => {
  const fixture = await fixtureOf(context);
  const { expect } = context;

  await drainSlowly(fixture, () => undefined);

  expect(fixture.broker.batches).toHaveLength(1);
  expect(fixture.broker.labels).toEqual(['A']);
  expect(await fixture.states('A')).toEqual(['published']);
});
