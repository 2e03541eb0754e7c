import { expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/core/topic.ts';
import { refusalReasonOf } from '../../../src/inbox/reading/unreadable.ts';
import { routeOf } from '../../../src/inbox/route.ts';
import { RouteTable } from '../../../src/inbox/route-table.ts';
import { incoming } from './incoming.ts';
import { refusalOf } from './refusal.ts';

const schema = z.unknown();
const placed = topic('placed', schema, { address: 'orders' });
const paid = topic('paid', schema, { address: 'orders' });
const mailed = topic('mailed', schema);
const route = (one: typeof placed) => routeOf<unknown, unknown, unknown>(one, () => undefined);
const mailedElsewhere = topic('mailed-elsewhere', schema, { address: 'mailed', transport: 'other' });
const found = (routes: RouteTable<unknown>, headers: Record<string, string>, address = 'orders') => {
  const answer = routes.find(incoming({ headers, address }));
  return typeof answer === 'string' ? `passed over: ${answer}` : answer.topic.name;
};

test('a message goes to the handler of the topic that it names', () => {
  const routes = new RouteTable([route(placed), route(paid)], []);

  expect(found(routes, { ce_type: 'placed' })).toBe('placed');
  expect(found(routes, { ce_type: 'paid' })).toBe('paid');
});

test('a message that names no topic goes to the only one of its address', () => {
  const routes = new RouteTable([route(placed), route(mailed)], []);

  expect(found(routes, {})).toBe('placed');
  expect(found(routes, {}, 'mailed')).toBe('mailed');
});

test('a message that names no topic is unreadable where several share the address', () => {
  const routes = new RouteTable([route(placed), route(paid)], []);

  expect(() => found(routes, {})).toThrow('several topics use its address');
});

test('a topic without a handler here also shares the address', () => {
  const routes = new RouteTable([route(placed)], [placed, paid]);

  expect(() => found(routes, {})).toThrow('several topics use its address');
});

test('the same address of another transport is another address', () => {
  const routes = new RouteTable([route(mailed)], [mailed, mailedElsewhere]);

  expect(found(routes, {}, 'mailed')).toBe('mailed');
});

test('a message that names no topic is unreadable at an address that no topic uses', () => {
  expect(() => found(new RouteTable([route(placed)], []), {}, 'mailed')).toThrow('no topic uses its address');
});

test('a message without a known topic is refused for that reason', async () => {
  const routes = new RouteTable([route(placed), route(paid)], []);

  for (const headers of [{}, { ce_type: 'newer' }])
    expect(refusalReasonOf(await refusalOf(() => found(routes, headers)))).toBe('unknown-topic');
});

test('a configured topic without a handler here is skipped', () => {
  expect(found(new RouteTable([route(placed)], [placed, paid]), { ce_type: 'paid' })).toBe(
    'passed over: paid',
  );
});

test('an unknown topic is not skipped, because that would lose it', () => {
  expect(() => found(new RouteTable([route(placed)], [placed, paid]), { ce_type: 'newer' })).toThrow(
    '"newer"',
  );
});

test('with ignored unknown topics, messages of unknown topics are skipped, and those that name none of several', () => {
  const routes = new RouteTable([route(placed), route(paid)], [], 'ignore');

  expect(found(routes, { ce_type: 'newer' })).toBe('passed over: newer');
  expect(found(routes, {})).toBe('passed over: orders');
  expect(found(routes, { ce_type: 'paid' })).toBe('paid');
});
