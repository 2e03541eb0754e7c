import { expect, test } from 'vitest';
import { groupsOf } from '../../../src/cli/group-flags.ts';

test('groups and topics are lists of names; without a group there is nothing to look at', () => {
  expect(groupsOf({ group: 'billing, shipping,', topic: 'orders' })).toEqual({
    groups: ['billing', 'shipping'],
    topics: ['orders'],
  });
  expect(groupsOf({ group: 'billing' })).toEqual({ groups: ['billing'] });
  expect(groupsOf({})).toBeUndefined();
});

test('topics without a group are refused, because they would be ignored', () => {
  expect(() => groupsOf({ topic: 'orders' })).toThrow('--group');
});
