import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type BearerToken, bearerTokens } from '../../../src/config/bearer-tokens.ts';
import { OutboxError } from '../../../src/core/errors.ts';

const hashOf = (token: string) => createHash('sha256').update(token).digest('hex');
const shopToken = 'token-of-the-shop'.padEnd(43, '-');
const nightToken = 'token-of-the-night'.padEnd(43, '-');
const shop: BearerToken = { name: 'shop', hash: hashOf(shopToken), role: 'viewer' };
const night: BearerToken = {
  name: 'night',
  hash: () => hashOf(nightToken).toUpperCase(),
  role: 'operator',
  payloads: true,
  topics: ['orders'],
};

const asked = (authorization?: string) =>
  new Request('http://localhost/status', authorization === undefined ? {} : { headers: { authorization } });

test('a token proves its caller, with the rights of its entry and no more', async () => {
  const tokens = bearerTokens([shop, night]);
  expect(await tokens.caller(asked(`Bearer ${shopToken}`))).toEqual({
    name: 'shop',
    role: 'viewer',
    payloads: false,
    ambient: false,
  });
  expect(await tokens.caller(asked(`bearer ${nightToken}`))).toEqual({
    name: 'night',
    role: 'operator',
    payloads: true,
    topics: ['orders'],
    ambient: false,
  });
  expect(tokens.challenge).toBe('Bearer');
});

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  `Bearer ${'token-of-nobody'.padEnd(43, '-')}`,
  `Basic ${shopToken}`,
  shopToken,
  // Who reads the configuration knows the hash.
  `Bearer ${hashOf(shopToken)}`,
  `Bearer ${'x'.repeat(100_000)}`,
])('authorization %j proves nobody', async (authorization) => {
  expect(await bearerTokens([shop, night]).caller(asked(authorization))).toBeUndefined();
});

test('a hash that is missing when it is read proves nobody, and lets nobody in', async () => {
  const missing = { ...shop, hash: () => 'not a hash' };
  await expect(bearerTokens([missing]).caller(asked(`Bearer ${shopToken}`))).rejects.toThrow(OutboxError);
});

test.each<[string, unknown]>([
  ['tokens', []],
  ['tokens[0].hash', [{ ...shop, hash: 'token-of-the-shop' }]],
  ['tokens[0].name', [{ ...shop, name: '' }]],
  ['tokens[0].role', [{ ...shop, role: 'root' }]],
  ['tokens[0].topics', [{ ...shop, topics: [] }]],
  ['tokens[0].token', [{ ...shop, token: 'token-of-the-shop' }]],
])('%s is refused where it is wrong, and no token is repeated', (path, tokens) => {
  const making = () => bearerTokens(tokens as readonly BearerToken[]);
  expect(making).toThrow(path);
  expect(making).not.toThrow('token-of-the-shop');
});

test('a token that is too short to be random proves nobody, although its hash is configured', async () => {
  const short = shopToken.slice(1);
  expect(
    await bearerTokens([{ ...shop, hash: hashOf(short) }]).caller(asked(`Bearer ${short}`)),
  ).toBeUndefined();
});
