import { expect, test } from 'vitest';
import type { Authentication, Caller } from '../../../../src/api/authentication.ts';
import { anyOf } from '../../../../src/api/sign-in/any-of.ts';

const caller = (name: string): Caller => ({ name, role: 'viewer', payloads: false, ambient: false });
const proves = (name: string | undefined, more: Partial<Authentication> = {}): Authentication => ({
  caller: async () => (name === undefined ? undefined : caller(name)),
  ...more,
});
const failure = new Error('away');
const fails: Authentication = {
  caller: async () => {
    throw failure;
  },
};
const request = new Request('https://outbox.test/me');

test('the first that proves a caller decides', async () => {
  expect(await anyOf(proves(undefined), proves('ada'), proves('eve')).caller(request)).toEqual(caller('ada'));
  expect(await anyOf(proves(undefined), proves(undefined)).caller(request)).toBeUndefined();
});

test('one that cannot decide keeps nobody out, and lets nobody in', {
  tags: ['callers-prove-themselves'],
}, async () => {
  expect(await anyOf(fails, proves('ada')).caller(request)).toEqual(caller('ada'));
  await expect(anyOf(fails, proves(undefined)).caller(request)).rejects.toBe(failure);
  await expect(anyOf(proves(undefined), fails).caller(request)).rejects.toBe(failure);
  const throws: Authentication = {
    caller() {
      throw failure;
    },
  };
  await expect(anyOf(throws, proves(undefined)).caller(request)).rejects.toBe(failure);
});

test('paths, challenges and connections of all are of the whole', async () => {
  const closed: string[] = [];
  const part = (name: string): Authentication =>
    proves(undefined, {
      challenge: name,
      handle: async ({ url }) => (url.endsWith(name) ? new Response(name) : undefined),
      close: async () => void closed.push(name),
    });
  const whole = anyOf(part('Bearer'), proves(undefined), part('Basic'));
  expect(whole.challenge).toBe('Bearer, Basic');
  expect(await (await whole.handle?.(new Request('https://outbox.test/Basic')))?.text()).toBe('Basic');
  expect(await whole.handle?.(request)).toBeUndefined();
  await whole.close?.();
  expect(closed.toSorted()).toEqual(['Basic', 'Bearer']);
  expect(anyOf(proves('ada')).challenge).toBeUndefined();
});

test('none, or what proves nothing, is refused', () => {
  const refused = 'of anyOf() must be';
  expect(() => anyOf()).toThrow(refused);
  expect(() => anyOf({} as Authentication)).toThrow(refused);
});
