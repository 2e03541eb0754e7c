import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';

const drainTimeoutMs = 1_000;

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await fixture.drop();
});

/** Of a lane that is never quiet. */
async function drainMs(random: number): Promise<number> {
  vi.spyOn(Math, 'random').mockReturnValue(random);
  const startedAt = performance.now();
  const timings = { ...defaultTimings, drainTimeoutMs, checkIntervalMs: 10 };
  expect(await fixture.drain({ timings })).toBe('more');
  return performance.now() - startedAt;
}

test('lanes that begin together end apart, at the earliest after half of the timeout and at the latest soon after it', async () => {
  const early = await drainMs(0.999);
  expect(early).toBeGreaterThan(drainTimeoutMs * 0.45);
  expect(early).toBeLessThan(drainTimeoutMs * 0.95);

  const late = await drainMs(0);
  expect(late).toBeGreaterThan(drainTimeoutMs * 0.95);
  expect(late).toBeLessThan(drainTimeoutMs * 2);
});
