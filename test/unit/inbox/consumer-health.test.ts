import { expect, test } from 'vitest';
import { HealthRecord } from '../../../src/core/health.ts';
import { Tally } from '../../../src/inbox/consumer-counts.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { noting, standing } from '../../../src/inbox/consumer-health.ts';

const error = new Error('no');

test.each<[ConsumerEvent, string | undefined]>([
  [{ type: 'waiting-for-server', server: 'Kafka', error }, 'Kafka'],
  [{ type: 'workflows-failing', error }, 'Temporal'],
  [{ type: 'parked-failing', error, retryInMs: 5 }, 'parked keys'],
  [{ type: 'window-failing', error, retryInMs: 5 }, 'window'],
  [{ type: 'dead-letters-failing', error, retryInMs: 5 }, 'dead letters'],
  [{ type: 'receipts-unsent', waiting: 1, dropped: 0, error, retryInMs: 5 }, 'receipts'],
  [{ type: 'bulk-failing', error }, undefined],
])('$type is passed on, and the health shows its content', (event, what) => {
  const health = new HealthRecord();
  const events: ConsumerEvent[] = [];

  noting(health, (one) => events.push(one))(event);

  expect(events).toEqual([event]);
  expect(health.read().failing.map((one) => [one.what, one.error])).toEqual(
    what === undefined ? [] : [[what, error.message]],
  );
  expect(health.isAway(60_000), 'only a server is away').toBe(what === 'Kafka');
});

test('a resolved failure is no longer shown, and effects of a stop are not reported', () => {
  const health = new HealthRecord();
  const events: ConsumerEvent[] = [];
  const report = noting(health, (one) => events.push(one));
  report({ type: 'workflows-failing', error });
  report({ type: 'workflows-resumed', since: new Date() });
  expect(health.read().failing).toEqual([]);

  health.state = 'stopped';
  report({ type: 'workflows-failing', error });
  expect([events.length, health.read().failing]).toEqual([2, []]);
});

test('stuck partitions and addresses are shown by name', () => {
  const since = new Date(1);
  expect(
    standing(
      [{ address: 'orders', partition: 3, offset: '7', topic: 'orders', error, attempts: 2, since }],
      [
        {
          address: 'returns',
          since,
          error,
          errorText: 'no',
          failedKeys: 1,
          keys: 1,
          probes: 0,
          nextProbeAt: since,
        },
      ],
    ),
  ).toEqual([
    { what: 'partition orders/3', since, error },
    { what: 'address returns', since, error },
  ]);
});

test('counts begin at zero, count each end of each topic, and notify of it', () => {
  let ended = 0;
  const tally = new Tally(['orders'], () => (ended += 1));
  const none = { handled: 0, duplicates: 0, expired: 0, parked: 0, failed: 0, ignored: 0, failedAttempts: 0 };
  expect({ ...tally.counts(), inFlight: tally.inFlight }).toEqual({ ...none, inFlight: 0 });

  tally.count('handled', 'orders');
  tally.count('duplicates', 'a topic of somebody else');
  tally.count('duplicates', undefined);
  tally.failedAttempts += 4;
  tally.inFlight = 9;

  expect(tally.counts()).toEqual({ ...none, handled: 1, duplicates: 2, failedAttempts: 4 });
  expect(tally.topics()).toEqual([
    ['orders', { ...none, handled: 1 }],
    ['_OTHER', { ...none, duplicates: 2 }],
  ]);
  expect(ended).toBe(3);
});
