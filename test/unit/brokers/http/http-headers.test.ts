import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  fromHttpHeaders,
  takenHeader,
  toHttpHeaders,
} from '../../../../src/brokers/http/client/http-headers.ts';

test('CloudEvents are sent in binary mode, with the key, and own headers under their names', () => {
  const headers = {
    ce_id: '1',
    ce_type: 'order "placed" 100%',
    'content-type': 'application/json; charset=utf-8',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    baggage: 'user=%C5%BD',
    'x-note': 'hello world',
    'outbox-attempt': '2',
  };
  expect(toHttpHeaders({ key: 'žluť 1', headers })).toEqual({
    'ce-id': '1',
    'ce-type': 'order%20%22placed%22%20100%25',
    'ce-partitionkey': '%C5%BElu%C5%A5%201',
    'content-type': 'application/json; charset=utf-8',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    baggage: 'user=%C5%BD',
    'x-note': 'hello world',
    'outbox-attempt': '2',
  });
});

test('any value arrives unchanged and cannot end a line', () => {
  const text = fc.string({ unit: 'binary', minLength: 1 }).filter((value) => !/\p{Surrogate}/u.test(value));
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,9}$/).map((one) => `x-${one}`);
  const event = fc.stringMatching(/^[a-z]{1,9}$/).map((one) => `ce_${one}`);
  fc.assert(
    fc.property(fc.dictionary(fc.oneof(name, event), text), fc.option(text), (headers, key) => {
      fc.pre(!('ce_partitionkey' in headers));
      const sent = Object.entries(toHttpHeaders({ key, headers }));
      for (const [, value] of sent) expect(value).toMatch(/^[\x20-\x7e]*$/);
      expect(fromHttpHeaders(sent.map(([known, value]) => [known.toUpperCase(), value.trim()]))).toEqual({
        key,
        headers: { ...headers },
      });
    }),
  );
});

test('a value of another sender with a literal % is not changed', () => {
  expect(fromHttpHeaders([['X-Discount', '5%']])).toEqual({ key: null, headers: { 'x-discount': '5%' } });
});

test.each([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'content-encoding',
  'webhook-id',
  'webhook-signature',
  'ce-id',
  'proxy-authorization',
])('a message may not set the header %s', (name) => {
  expect(takenHeader(['x-a', name])).toBe(name);
});
