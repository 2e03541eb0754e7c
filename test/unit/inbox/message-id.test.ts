import { expect, test } from 'vitest';
import { idReader, type MessageIdRule, positionId } from '../../../src/inbox/reading/message-id.ts';
import { incoming } from './incoming.ts';
import { refusalOf } from './refusal.ts';

type Incoming = Parameters<typeof incoming>[0];
const idOf = (rule: MessageIdRule | undefined, message: Incoming) =>
  idReader('orders', rule)(incoming(message));

test('without a rule the id is the header of CloudEvents, unchanged', () => {
  expect(idOf(undefined, { headers: { ce_id: 'a' } })).toBe('a');
});

const outbox = '/outbox/0190a5c8-7d6e-7bbb-8a4f-2f6b6a1c0d11';

test.for([
  ['an outbox', outbox, 'a', 'a'],
  ['no source', undefined, 'a', 'a'],
  ['an empty source', '', 'a', 'a'],
  ['a shop', 'https://shop.test/a', '1', 'https://shop.test/a|1'],
  ['a source that looks like an outbox', `${outbox}/more`, '1', `${outbox}/more|1`],
  ['a source of the maximum length', 'x'.repeat(510), '1', `${'x'.repeat(510)}|1`],
] as const)('the id of an event of %s includes its source', ([, ce_source, ce_id, id]) => {
  const headers = { ce_id, ...(ce_source === undefined ? {} : { ce_source }) };
  expect(idOf(undefined, { headers })).toBe(id);
});

test('an id that the sender of an outbox chose is told apart from the same one of another outbox', () => {
  const idFrom = (ce_source: string | undefined, chosen = true) =>
    idOf(undefined, {
      headers: { ce_id: 'a', ...(ce_source && { ce_source }), ...(chosen && { 'outbox-id': 'chosen' }) },
    });

  expect(idFrom(outbox)).toBe(`${outbox}|a`);
  expect(idFrom(outbox, false)).toBe('a');
  expect(idFrom(undefined)).toBe('a');
});

test('however long its source and its id, each event has its own id, the same each time', () => {
  const long = 'x'.repeat(511);
  const events = [
    ['urn:shop', 'orders:1'],
    ['urn:shop:orders', '1'],
    [long, '1'],
    [`${long}x`, '1'],
    [long, '11'],
    ['x', long],
    ['x', `${long}x`],
    ['a|b', 'c'],
    ['a', 'b|c'],
    ['é', '1'],
    ['nul\0', '1'],
    [`[${long}`, '1'],
  ] as const;
  const ids = events.map(([ce_source, ce_id]) => idOf(undefined, { headers: { ce_source, ce_id } }));

  expect(new Set(ids).size).toBe(events.length);
  for (const id of ids) expect(id).toMatch(/^[\x20-\x7e]{1,512}$/);
  expect(events.map(([ce_source, ce_id]) => idOf(undefined, { headers: { ce_source, ce_id } }))).toEqual(ids);
});

test.for([
  ['a header', { header: 'x-request-id' }],
  ['the key', 'key'],
  ['a function', ({ partition, offset }) => `${partition}-${offset}`],
] as const satisfies readonly (readonly [string, MessageIdRule])[])(
  'the id comes from %s, within its topic',
  ([, rule]) => {
    const message = { key: '7-10', partition: 7, headers: { ce_id: 'b', 'x-request-id': '7-10' } };
    expect(idOf(rule, message)).toBe('orders:7-10');
  },
);

test('one header in two topics gives two ids, because a request causes messages of several topics', () => {
  const message = incoming({ headers: { 'x-request-id': '1' } });
  const rule = { header: 'x-request-id' };
  expect(idReader('orders', rule)(message)).not.toBe(idReader('mails', rule)(message));
});

test.for([
  ['without the header', undefined, { headers: {} }, 'it has no header ce_id'],
  ['with an empty header', undefined, { headers: { ce_id: '' } }, 'header ce_id is not an id'],
  ['with an id that cannot be indexed', undefined, { headers: { ce_id: 'x'.repeat(513) } }, 'not an id'],
  ['with an id of too many bytes', undefined, { headers: { ce_id: 'é'.repeat(257) } }, 'not an id'],
  ['with NUL', undefined, { headers: { ce_id: 'a\0' } }, 'not an id'],
  ['with an id that was not UTF-8', undefined, { headers: { ce_id: 'a\u{fffd}' } }, 'not text in UTF-8'],
  [
    'with a source that was not UTF-8',
    undefined,
    { headers: { ce_id: '1', ce_source: 'a\u{fffd}' } },
    'its header ce_source is not text in UTF-8',
  ],
  ['without a key', 'key', { key: null }, 'it has no key'],
  ['with an empty key', 'key', { key: '' }, 'its key is not an id'],
  ['with a key too long together with the topic', 'key', { key: 'x'.repeat(506) }, 'its key is not an id'],
  ['without the named header', { header: 'x-request-id' }, {}, 'it has no header x-request-id'],
  ['for which the function returns a lone surrogate', () => '\ud800', {}, 'not text in UTF-8'],
  ['for which the function returns no string', () => 7 as never, {}, 'not an id'],
  ['for which the function returns nothing', () => undefined as never, {}, 'it has no id of the function'],
] as const satisfies readonly (readonly [string, MessageIdRule | undefined, Incoming, string])[])(
  'a message %s has no id, and the error names the reason',
  async ([, rule, message, why]) => {
    expect(await refusalOf(() => idOf(rule, message))).toMatchObject({
      code: 'OUTBOX_MESSAGE_UNREADABLE',
      message: expect.stringContaining(why),
      details: { offset: '10', reason: 'no-id' },
    });
  },
);

test('the error of a function that throws keeps its cause and does not quote it', async () => {
  const cause = new TypeError('secret is no id');
  const refusal = await refusalOf(() =>
    idOf(() => {
      throw cause;
    }, {}),
  );

  expect(refusal).toMatchObject({ cause, details: { reason: 'no-id' } });
  expect(refusal.message).toMatch(/the function that returns its id threw a TypeError\.$/);
});

test.for([
  ['another word', 'ce_id'],
  ['null', null],
  ['an empty header', { header: '' }],
  ['a header that is not a string', { header: 7 }],
  ['another property', { header: 'a', topic: 'b' }],
] as const)('a rule that is %s is refused at once', ([, rule]) => {
  expect(() => idReader('orders', rule as never)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      details: { option: 'id', topic: 'orders' },
    }),
  );
});

test('a message without an id is identified by its offset', () => {
  expect(positionId(incoming({ partition: 3 }))).toBe('orders/3/10');
});
