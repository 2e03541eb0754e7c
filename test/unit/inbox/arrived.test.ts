import { expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/core/topic.ts';
import { identify } from '../../../src/inbox/handling/arrived.ts';
import { routeOf } from '../../../src/inbox/route.ts';
import { RouteTable } from '../../../src/inbox/route-table.ts';
import { incoming } from './incoming.ts';

const routes = new RouteTable(
  [routeOf<unknown, unknown, unknown>(topic('orders', z.unknown()), () => undefined)],
  [],
);

test.each([
  ['its own id, if it has one', 'id-7', 'id-7'],
  ['its offset, if its id cannot be stored', 'half \ud800', 'orders/0/10'],
  ['its offset, if it has no id', '', 'orders/0/10'],
])('a message of an unknown topic is identified by %s', (_, id, known) => {
  const arrived = identify(incoming({ headers: { ce_id: id, ce_type: 'nobody-knows' } }), routes);

  expect(arrived).toMatchObject({ id: known, topic: 'nobody-knows', route: { kind: 'refused' } });
});

test('a long key or topic cut within a character can be stored', () => {
  const long = `${'x'.repeat(99)}😀${'y'.repeat(600)}`;
  const arrived = identify(incoming({ key: long, headers: { ce_id: 'id-7', ce_type: long } }), routes);

  expect(arrived).toMatchObject({
    key: expect.stringMatching(/^x{99}/),
    topic: expect.stringMatching(/^x{99}/),
  });
  if (!('id' in arrived)) throw new Error('ignored');
  for (const text of [arrived.key ?? '', arrived.topic]) expect(text).toBe(Buffer.from(text).toString());
});

test('a key of up to 512 bytes is unchanged, and a longer one is cut and distinguished by its end', () => {
  const keyOf = (key: string): string | null => {
    const arrived = identify(incoming({ key }), routes);
    return 'id' in arrived ? arrived.key : 'ignored';
  };
  for (const key of ['', 'k'.repeat(512), 'é'.repeat(256), `${'é'.repeat(255)}kk`])
    expect(keyOf(key)).toBe(key);
  const [one, other] = [`${'k'.repeat(512)}1`, `${'é'.repeat(256)}2`];
  for (const key of [one, other]) expect(Buffer.byteLength(keyOf(key) ?? '')).toBeLessThan(400);
  expect(keyOf(one)).toBe(keyOf(one));
  expect(keyOf(one)).not.toBe(keyOf(`${'k'.repeat(512)}2`));
  expect(keyOf('half \ud800')).toBe('half �');
});
