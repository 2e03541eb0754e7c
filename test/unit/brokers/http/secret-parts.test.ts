import { expect, test } from 'vitest';
import { classifyAnswer } from '../../../../src/brokers/http/transport/answer-class.ts';
import { secretParts } from '../../../../src/brokers/http/transport/secret-parts.ts';

const basic = Buffer.from('shop:CANARY').toString('base64');

test.each([
  ['authorization', 'CANARY'],
  ['authorization', 'Bearer CANARY'],
  ['authorization', 'ApiKey  CANARY'],
  ['authorization', `Basic ${basic}`],
  ['authorization', 'Digest username="shop", response="CANARY"'],
  ['cookie', 'session=CANARY; path=/shop'],
  ['cookie', 'theme=light; session=CANARY'],
])('no part of the header %s: %s is repeated in a reason', (name, value) => {
  const rules = {
    server: 'hooks.test',
    hidden: secretParts({ [name]: value }),
    permanentStatuses: new Set<number>(),
  };
  for (const said of [`token CANARY expired for ${basic}`, `you sent ${value}`]) {
    const answer = { status: 400, excerpt: said, retryAfter: undefined, location: undefined };
    const told = JSON.stringify(classifyAnswer(answer, rules));
    expect(told).toContain('hooks.test answered 400');
    expect(told).not.toContain('CANARY');
    if (value.includes(basic)) expect(told).not.toContain(basic);
  }
});

test('short values and the name of the scheme stay readable', () => {
  expect(secretParts({ 'x-env': 'prod', authorization: 'Bearer abcdef' })).toEqual([
    'Bearer abcdef',
    'abcdef',
  ]);
});
