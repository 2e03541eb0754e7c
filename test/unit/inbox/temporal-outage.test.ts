import { expect, test } from 'vitest';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { TemporalOutage } from '../../../src/inbox/parked/temporal-outage.ts';

test('an outage is reported once with its first error, and so is its end', () => {
  const events: ConsumerEvent[] = [];
  const outage = new TemporalOutage((event) => events.push(event));
  outage.answered();
  expect([events, outage.told]).toEqual([[], false]);

  outage.failed(new Error('first'));
  outage.failed(new Error('second'));
  expect(events).toEqual([{ type: 'workflows-failing', error: new Error('first') }]);
  expect(outage.told).toBe(true);

  outage.answered();
  outage.answered();
  expect(events.slice(1)).toEqual([{ type: 'workflows-resumed', since: expect.any(Date) }]);
  expect(outage.told).toBe(false);
  outage.failed(new Error('again'));
  expect(events).toHaveLength(3);
});
