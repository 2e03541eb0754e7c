import { expect, test } from 'vitest';
import { askSecret } from '../../../src/core/ask-secret.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { namedReasonOf, ownReasonOf, reasonOf } from '../../../src/core/reason.ts';
import { secret, secretIn, withoutSecrets } from '../../../src/core/secrets.ts';

test('what was read as a secret is in no text of an error, nor as it is sent', {
  tags: ['secrets-stay-secret'],
}, async () => {
  expect(secret('s3cr3t+key')).toBe('s3cr3t+key');
  await askSecret('database.password', () => 'renewed-9');
  secretIn(new URL('smtp://shop:a%40b-c9@mail.test'));
  secretIn(new URL('smtp://shop:50%-off@mail.test'));
  const sent = Buffer.from('s3cr3t+key').toString('base64');
  const said = `s3cr3t+key, s3cr3t%2Bkey, ${sent}, renewed-9, a%40b-c9, a@b-c9, 50%-off`;
  const cut = '…, …, …, …, …, …, …';

  const error = new Error('refused', { cause: new Error(said) });
  expect(reasonOf(error)).toBe(`refused: ${cut}`);
  expect(namedReasonOf(error)).toBe(`Error: refused: ${cut}`);
  expect(ownReasonOf(said)).toBe(cut);
  expect(reasonOf(new AggregateError([new Error(said), said], 'all failed'))).toBe(cut);
  expect(new OutboxError('OUTBOX_SERVER_REFUSED', said).message).toBe(cut);
});

test.each(['', 'u', 'us', 'shop', 'shop-1'])(
  'it is cut out of base64 behind %j',
  { tags: ['secrets-stay-secret'] },
  (user) => {
    const key = 's3cr3t+key?>~~';
    secret(key);
    for (const [format, text] of [
      ['base64', `${user}:${key}`],
      ['base64url', `${user}:${key}`],
      ['base64', `\0${user}\0${key}`],
      ['base64', `${key}:${user}`],
    ] as const) {
      const told = withoutSecrets(`refused: ${Buffer.from(text).toString(format)}`);
      const [before = '', after = ''] = told.replace('refused: ', '').split('…');
      expect(told).toContain('…');
      // What is left has at most some bits of its first and its last character.
      expect(Buffer.from(before, 'base64').toString()).not.toContain('s3');
      expect(after.replaceAll('=', '').length).toBeLessThan(2 + 2 * user.length + 2);
    }
  },
);

test('the longest is cut first', () => {
  secret('abc-123');
  secret('abc-123-def');
  expect(withoutSecrets('it was abc-123-def')).toBe('it was …');
});

test('a short word, and what is shown anyway, stays readable', () => {
  for (const one of ['postgres', 'guest', 'abc1', '']) secret(one);
  secret('shop-user', 'shop-user', undefined);
  secret(undefined);
  const said = 'password authentication of "shop-user" failed for guest of postgres: abc1';
  expect(withoutSecrets(said)).toBe(said);
});

test('the latest thousand forms are known, so that keys that change take no memory', () => {
  secret('first-key-0');
  for (let n = 0; n < 600; n += 1) secret(`later-key-${n}`);
  expect(withoutSecrets('first-key-0 later-key-599')).toBe('first-key-0 …');
});
