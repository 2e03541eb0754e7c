import { expect, test } from 'vitest';
import { laneFixture } from '../support/fixtures/lane-fixture.ts';
import { violations } from '../support/fixtures/stress-verdict.ts';
import { StressWorld } from '../support/fixtures/stress-world.ts';

/** Longer runs and known seeds: OUTBOX_STRESS_SECONDS=300 OUTBOX_STRESS_SEED=7 */
const seconds = Number(process.env.OUTBOX_STRESS_SECONDS ?? 8);
const seed = Number(process.env.OUTBOX_STRESS_SEED ?? Date.now() % 1_000_000);

test(`a lane loses, invents, reorders, doubles and resurrects nothing (seed ${seed})`, {
  tags: ['order-per-key'],
  timeout: (2 * seconds + 240) * 1_000,
}, async () => {
  // Patient enough that chance alone uses up no message's tries.
  const fixture = await laneFixture({ timer: 'lane', retry: Array<'10ms'>(40).fill('10ms') });
  const world = new StressWorld(fixture, seed);
  try {
    await world.run(seconds * 1_000, { crashes: 1, committed: 20 * seconds });

    const found = await violations(world, fixture.database);
    const committed = world.committed.size;
    const twice = world.log.length - new Set(world.log.map(({ id }) => id)).size;
    console.info({ seed, committed, canceled: world.canceled.size, repeats: twice, ...world.counts });
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, []])));
    // A run in which nothing happened proves nothing.
    expect(world.counts.crashes).toBeGreaterThanOrEqual(1);
    expect(committed).toBeGreaterThanOrEqual(20 * seconds);
  } finally {
    await world.close();
    await fixture.drop();
  }
});
