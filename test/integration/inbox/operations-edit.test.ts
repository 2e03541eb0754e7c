import { expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/index.ts';
import { operations } from '../../../src/operations.ts';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';

test('an edited message is superseded by a copy with a new id in its place, which the handler gets', async (end) => {
  const fixture = await keptFixture(end);
  const { group } = fixture;
  const original = await fixture.keep('first', {
    state: 'failed',
    headers: { ce_id: 'old', note: 'old', gone: '1' },
  });
  const later = await fixture.keep('later', { retryInMs: 60_000 });
  const { inbox } = fixture.operator;

  const edited = await inbox.edit(
    { group, id: original },
    { ...ada, payloadText: '{ "n":  1 }', headers: { note: 'new', gone: null } },
  );

  expect(edited).toEqual({ id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/), supersedes: original });
  const before = await inbox.show({ group, id: original });
  const copy = await inbox.show({ group, id: edited.id });
  expect(before).toMatchObject({
    message: { state: 'superseded', supersededBy: edited.id },
    why: { code: 'superseded', text: expect.stringContaining(edited.id) },
  });
  expect(copy).toMatchObject({
    message: {
      state: 'parked',
      supersedes: original,
      position: before.message?.position,
      attempts: 0,
      key: 'K',
      headers: { ce_id: edited.id, note: 'new' },
      body: { text: '{ "n":  1 }' },
    },
  });
  expect(copy.message?.headers).not.toHaveProperty('gone');
  const begun = await fixture.beginOnceKnown(later);
  expect(begun).toMatchObject({ kind: 'try', message: { id: edited.id, attempts: 1 } });
  expect(
    await fixture.database.query('select position from outbox.parked group by 1 having count(*) > 1'),
  ).toHaveLength(1);
});

test('neither the copy nor the original is handled from the stream', async (end) => {
  const fixture = await keptFixture(end);
  const original = await fixture.keep('first', { key: null, state: 'failed' });
  const { id } = await fixture.operator.inbox.edit(
    { group: fixture.group, id: original },
    { ...ada, payload: 1 },
  );

  const arrivals = await fixture.database.transaction((sql) =>
    noteArrivals(
      sql,
      fixture.group,
      [original, id].map((each) => ({ id: each, topic: 'orders', key: null })),
    ),
  );

  expect(arrivals).toEqual(['processed', 'kept']);
});

test('an edit that leaves the body keeps every byte of it, also of a message without a body', async (end) => {
  const fixture = await keptFixture(end);
  const { group } = fixture;
  for (const body of [Buffer.from([0xff, 0x00, 0xfe]), null]) {
    const id = await fixture.keep('odd', { key: null, state: 'failed', body });
    const edited = await fixture.operator.inbox.edit({ group, id }, { ...ada, headers: { note: 'x' } });
    const { message } = await fixture.operator.inbox.show({ group, id: edited.id });
    expect(message?.body).toEqual(body === null ? null : { base64: body.toString('base64') });
  }
});

test('the first message of a parked key can be edited, one behind it cannot', async (end) => {
  const fixture = await keptFixture(end);
  const { group } = fixture;
  const head = await fixture.keep('head', { retryInMs: 60_000 });
  const behind = await fixture.keep('behind');
  const { inbox } = fixture.operator;

  await expect(inbox.edit({ group, id: behind }, { ...ada, payload: 1 })).rejects.toMatchObject({
    code: 'OUTBOX_CONFLICT',
    details: { why: 'behind-key', state: 'parked' },
  });
  const { id } = await inbox.edit({ group, id: head }, { ...ada, payload: 1 });

  expect(await fixture.drain(behind)).toEqual([id, behind]);
});

test('the audit of an edit says what was changed, by nothing that is made of a body', async (end) => {
  const fixture = await keptFixture(end);
  const id = await fixture.keep('first', { state: 'failed', body: Buffer.from('"secret"') });
  const copy = await fixture.operator.inbox.edit({ group: fixture.group, id }, { ...ada, payload: 'hidden' });

  const audit = await fixture.audit();
  expect(audit).toMatchObject([
    {
      action: 'edit',
      id,
      result: 'edited',
      details: { copy: copy.id, body: { changed: true }, headers: { changed: false } },
    },
  ]);
  expect(JSON.stringify(audit)).not.toMatch(/secret|hidden|[0-9a-f]{64}/);
});

test('an edit of a version other than the one read is a conflict, and one of two editors wins', async (end) => {
  const fixture = await keptFixture(end);
  const { group } = fixture;
  const id = await fixture.keep('first', { state: 'failed' });
  const { inbox } = fixture.operator;
  const expectedVersion = (await inbox.show({ group, id })).message?.version ?? '';

  const ends = await Promise.allSettled(
    ['one', 'two'].map((payload) => inbox.edit({ group, id }, { ...ada, payload, expectedVersion })),
  );

  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(ends.find((one) => one.status === 'rejected')?.reason).toMatchObject({
    code: expect.stringMatching(/^OUTBOX_(?:CONFLICT|MESSAGE_BUSY)$/),
  });
  const other = await fixture.keep('other', { key: null, state: 'failed' });
  await expect(
    inbox.edit({ group, id: other }, { ...ada, payload: 1, expectedVersion }),
  ).rejects.toMatchObject({
    details: { why: 'conflict', state: 'failed' },
  });
});

test.each([
  ['a key', { key: 'other' }, 'OUTBOX_OPTION_INVALID'],
  ['the trace', { headers: { traceparent: 'x' } }, 'OUTBOX_HEADER_INVALID'],
  ['its id', { headers: { ce_id: 'x' } }, 'OUTBOX_HEADER_INVALID'],
  ['a reserved header to leave out', { headers: { 'outbox-attempt': null } }, 'OUTBOX_HEADER_INVALID'],
  ['a body that is not JSON', { payloadText: '{' }, 'OUTBOX_PAYLOAD_INVALID'],
  ['a body that does not match the schema', { payload: { n: 'one' } }, 'OUTBOX_PAYLOAD_INVALID'],
  ['nothing', {}, 'OUTBOX_OPTION_INVALID'],
])('an edit of %s is refused, and the message stays failed', async (_, change, code) => {
  const ends: (() => Promise<void>)[] = [];
  const fixture = await keptFixture({ onTestFinished: (work) => ends.push(work) });
  const operator = operations({
    database: { url: fixture.url },
    topics: [topic('orders', z.object({ n: z.number() }))],
  });
  const id = await fixture.keep('first', { state: 'failed' });

  await expect(
    operator.inbox.edit({ group: fixture.group, id }, { ...ada, ...change }),
  ).rejects.toMatchObject({
    code,
  });

  expect(await fixture.states(id)).toEqual(['failed']);
  await operator.close();
  for (const work of ends) await work();
});

test('a message that is not kept cannot be edited, and the refusal is in the audit', async (end) => {
  const fixture = await keptFixture(end);
  const { group } = fixture;
  const handled = await fixture.keep('handled');
  await fixture.drain(handled);

  await expect(
    fixture.operator.inbox.edit({ group, id: 'nobody' }, { ...ada, payload: 1 }),
  ).rejects.toMatchObject({
    code: 'OUTBOX_MESSAGE_UNKNOWN',
  });
  await expect(
    fixture.operator.inbox.edit({ group, id: handled }, { ...ada, payload: 1 }),
  ).rejects.toMatchObject({
    code: 'OUTBOX_CONFLICT',
    details: { why: 'handled' },
  });
  expect((await fixture.audit()).map(({ id, result }) => [id, result])).toEqual([
    ['nobody', 'unknown'],
    [handled, 'too-late'],
  ]);
});
