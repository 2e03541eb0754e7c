import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';

const drainTimeoutMs = 4_000;

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await fixture.drop();
});

/** Of a lane that is never quiet: how long it took, and how much of it this process had a processor. */
async function drainMs(random: number): Promise<{ readonly tookMs: number; readonly ownMs: number }> {
  vi.spyOn(Math, 'random').mockReturnValue(random);
  const [startedAt, awakeMs] = [performance.now(), awake()];
  const timings = { ...defaultTimings, drainTimeoutMs, checkIntervalMs: 10 };
  expect(await fixture.drain({ timings })).toBe('more');
  return { tookMs: performance.now() - startedAt, ownMs: awakeMs() };
}

test('lanes that begin together end apart, at the earliest after half of the timeout and at the latest soon after it', async () => {
  const early = await drainMs(0.999);
  expect(early.tookMs).toBeGreaterThan(drainTimeoutMs * 0.45);
  expect(early.ownMs).toBeLessThan(drainTimeoutMs * 0.95);

  const late = await drainMs(0);
  expect(late.tookMs).toBeGreaterThan(drainTimeoutMs * 0.95);
  expect(late.ownMs).toBeLessThan(drainTimeoutMs * 2);
});
