import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readClaimed } from '../../../src/store/lane/claimed-messages.ts';
import { claimRowOf } from '../../support/fixtures/claimed-messages.ts';

/** A text that a database can hold. */
const text = fc.string({ unit: 'grapheme' }).map((any) => any.replaceAll('\u0000', ''));

const message = fc.record({
  id: fc.uuid(),
  position: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String),
  key: fc.option(text),
  payload: fc.oneof(text, fc.json(), fc.constant('x'.repeat(250))),
  headers: fc.option(fc.dictionary(fc.constantFrom('a', 'b'), text)),
  contentType: fc.constantFrom('application/json', 'application/json', 'text/plain'),
  attempts: fc.constantFrom(0, 0, 0, 2),
  ownWorkflow: fc.constantFrom(null, null, 'installation/message/1'),
  suspect: fc.boolean(),
  dueAtMs: fc.constantFrom(null, null, 1_767_323_045_678),
  resent: fc.constantFrom(false, false, true),
  expiresAt: fc.constantFrom(null, null, '2030-01-02T03:04:05.678Z'),
  expiresBy: fc.constant(null),
  blocked: fc.boolean(),
  createdAt: fc
    .date({ noInvalidDate: true, min: new Date('1900-01-01'), max: new Date('9999-12-31') })
    .map((date) => date.toISOString()),
});

test('every message of a claim is read as in its row', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
      expect(readClaimed(claimRowOf(messages))).toEqual(messages);
    }),
  );
});
