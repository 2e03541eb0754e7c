import { setTimeout as delay } from 'node:timers/promises';
import { type TestContext, test } from 'vitest';
import { LaneDrains } from '../../../src/relay/lane-drains.ts';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';

const timings = { ...defaultTimings, laneIdleTimeoutMs: 0, probeIntervalMs: 20, stuckAfterMs: 300 };
const never = (): Promise<never> => new Promise(() => undefined);

async function fixtureOf({ onTestFinished }: TestContext): Promise<LaneFixture> {
  const fixture = await laneFixture();
  onTestFinished(() => fixture.drop());
  await fixture.send('A');
  return fixture;
}

/** How a drain ends: with its answer, its error, or not at all. */
function endOf(drained: Promise<unknown>): Promise<unknown> {
  return Promise.race([
    drained.catch((error: unknown) => error),
    delay(30_000, 'still there', { ref: false }),
  ]);
}

function stuck(what: string) {
  return {
    code: 'OUTBOX_TRANSPORT_STUCK',
    message: `The transport "scripted" has not settled ${what} of the lane orders/0 within 0.3 s after it was asked to stop. The lane is given up.`,
    details: { transport: 'scripted', topic: 'orders', lane: 0 },
  };
}

test.concurrent('a publish that never settles is aborted, reported, and costs its lane, which sends the batch again', {
  tags: ['no-lane-stops'],
}, async (context) => {
  const fixture = await fixtureOf(context);
  const { expect } = context;
  let asked = false;
  fixture.broker.before = ({ signal }) => {
    signal.addEventListener('abort', () => {
      asked = true;
    });
    return never();
  };

  expect(await endOf(fixture.drain({ timings }))).toMatchObject(stuck('a batch'));

  expect(asked).toBe(true);
  expect(fixture.events).toContainEqual({
    type: 'error',
    during: 'publish',
    error: expect.objectContaining({ code: 'OUTBOX_TRANSPORT_STUCK' }) as Error,
  });
  fixture.broker.before = async () => undefined;
  expect(await endOf(fixture.drain({ timings }))).toBe('quiet');
  expect(fixture.events).toContainEqual(expect.objectContaining({ type: 'lane-acquired', lapsed: true }));
  expect(fixture.broker.labels).toEqual(['A']);
});

test.concurrent('a slow publish that stops when aborted keeps its lane, and the sent messages are settled', async (context) => {
  const fixture = await fixtureOf(context);
  const { expect } = context;
  fixture.broker.before = ({ signal }) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });

  expect(await endOf(fixture.drain({ timings }))).toBe('quiet');

  expect(await fixture.states('A')).toEqual(['published']);
  expect(fixture.events.filter(({ type }) => type === 'error' || type === 'lane-lost')).toEqual([]);
});

test.concurrent('a lane offered to its relay again is drained although the publish of the previous drain never settles', async (context) => {
  const fixture = await fixtureOf(context);
  const { expect } = context;
  const drains = new LaneDrains(() => undefined);
  const entered = new Promise<void>((resolve) => {
    fixture.broker.before = () => {
      resolve();
      fixture.broker.before = async () => undefined;
      return never();
    };
  });
  const { lane, ...input } = { ...fixture.drainInput(), timings: { ...timings, stuckAfterMs: 2_000 } };
  const before = drains.run(lane, input).catch((error: unknown) => error);
  await entered;

  expect(await endOf(drains.run(lane, input))).toBe('quiet');

  expect(await before).toMatchObject({ code: 'OUTBOX_TRANSPORT_STUCK' });
  expect(await fixture.states('A')).toEqual(['published']);
});
