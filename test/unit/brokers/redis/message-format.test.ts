import { expect, test } from 'vitest';
import { envelopeText, readEnvelope } from '../../../../src/brokers/redis/client/message-format.ts';

const envelope = { id: 'i', key: null, sentAtMs: 1, headers: { a: 'b' }, payload: '{"a":"\\u0000"}' };

test('a written envelope is read back', () => {
  expect(readEnvelope(envelopeText(envelope))).toEqual(envelope);
  expect(readEnvelope(envelopeText({ ...envelope, key: 'ž', payload: '\ud83d\udc0e "x"' }))).toMatchObject({
    key: 'ž',
    payload: '\ud83d\udc0e "x"',
  });
});

test.each([
  '',
  'plain text',
  '{"id":"i"}',
  '{"id":"i",',
  '{"id":"i","key":7,"sentAtMs":1,"headers":{},"payload":""}',
  '{"id":"i","key":null,"sentAtMs":1,"headers":{"a":1},"payload":""}',
  '{"id":"i","key":null,"sentAtMs":1,"headers":[],"payload":""}',
  '{"id":"i","key":null,"sentAtMs":"1","headers":{},"payload":""}',
])('a value of another program is not read as an envelope: %s', (text) => {
  expect(readEnvelope(text)).toBeUndefined();
});
