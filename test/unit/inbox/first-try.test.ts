import { expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/core/topic.ts';
import { identify } from '../../../src/inbox/handling/arrived.ts';
import { arrivedAgain, keptOf } from '../../../src/inbox/handling/kept.ts';
import { routeOf } from '../../../src/inbox/route.ts';
import { RouteTable } from '../../../src/inbox/route-table.ts';
import { firstTryOf, noteFirstTry } from '../../../src/telemetry/first-tries.ts';
import { incoming } from './incoming.ts';

const routes = new RouteTable(
  [routeOf<unknown, unknown, unknown>(topic('orders', z.unknown()), () => undefined)],
  [],
);
const first = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;

/** A message that was parked, as another process gets it. */
function parked(noted: string | undefined) {
  const message = incoming({ headers: { ce_id: 'id-7', ce_type: 'orders' } });
  noteFirstTry(message, noted);
  const arrived = identify(message, routes);
  if (!('id' in arrived)) throw new Error('ignored');
  const kept = keptOf(arrived, { state: 'parked', cause: 'error', error: new Error('no') }, false);
  return arrivedAgain({ ...kept, number: 2 });
}

test('a parked message brings the first of its traced tries, which is not among its headers', () => {
  const again = parked(first);
  expect(firstTryOf(again)).toBe(first);
  expect(again.headers).toEqual({ ce_id: 'id-7', ce_type: 'orders' });
  noteFirstTry(again, first.replace('01', '00'));
  expect(firstTryOf(again), 'later ones change nothing').toBe(first);
});

test('one that was not traced brings none', () => {
  expect(firstTryOf(parked(undefined))).toBeUndefined();
});
