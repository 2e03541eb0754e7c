import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ClaimRow, readClaimed } from '../../../src/store/lane/claimed-messages.ts';

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
  blocked: fc.boolean(),
  createdAt: fc
    .date({ noInvalidDate: true, min: new Date('1900-01-01'), max: new Date('9999-12-31') })
    .map((date) => date.toISOString()),
});

/** As `outbox.claim` answers these messages. */
function rowOf(messages: readonly ReturnType<typeof readClaimed>[number][]): ClaimRow {
  if (messages.length === 0)
    return {
      ids: null,
      positions: null,
      created: null,
      lengths: null,
      payloads: null,
      keys: null,
      headers: null,
      others: null,
    };
  const others = messages.flatMap(({ contentType, attempts, ownWorkflow, suspect, blocked }, n) => {
    const usual = contentType === 'application/json' && attempts === 0 && ownWorkflow === null;
    if (usual && !suspect && !blocked) return [];
    return [{ n, contentType, attempts, workflowId: ownWorkflow, suspect, blocked }];
  });
  const [keys, headers] = [messages.map(({ key }) => key), messages.map((one) => one.headers)];
  return {
    ids: messages.map(({ id }) => id).join(''),
    positions: messages.map(({ position }) => position).join(','),
    created: messages.map(({ createdAt }) => Date.parse(createdAt)).join(','),
    lengths: messages.map(({ payload }) => Buffer.byteLength(payload)).join(','),
    payloads: messages.map(({ payload }) => payload).join(''),
    keys: keys.every((key) => key === null) ? null : JSON.stringify(keys),
    headers: headers.every((one) => one === null) ? null : JSON.stringify(headers),
    others: others.length === 0 ? null : JSON.stringify(others),
  };
}

test('every message of a claim is read as it is in its row', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
      expect(readClaimed(rowOf(messages))).toEqual(messages);
    }),
  );
});
