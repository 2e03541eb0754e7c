import { expect, test } from 'vitest';
import { markKeysTold } from '../../../src/store/inbox/parked-keys.ts';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { testGate } from '../../support/fixtures/gate.ts';
import { giveUp, type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';

const of = ({ group }: KeptFixture, ...ids: readonly string[]) => ({ group, ids });

/** Begins a try, which must be possible. */
async function tried(fixture: KeptFixture, id: string) {
  const begun = await fixture.beginOnceKnown(id);
  if (begun.kind !== 'try') throw new Error(`no try, but ${begun.kind}`);
  return begun.message;
}

test('a failed message is retried in its old place, ahead of the queued ones of its key, with all tries', async (end) => {
  const fixture = await keptFixture(end);
  const early = await fixture.keep('early', { state: 'failed' });
  const later = await fixture.keep('later', { retryInMs: 3_600_000 });
  const last = await fixture.keep('last');
  const key = await fixture.keyOf(later);

  expect(await fixture.operator.inbox.retry(of(fixture, early), ada)).toEqual([
    { id: early, topic: 'orders', key: 'K', result: 'retried', state: 'parked' },
  ]);

  expect(await fixture.keyOf(early)).toMatchObject({ id: key?.id, toldAt: '-infinity' });
  const message = await tried(fixture, early);
  expect(message).toMatchObject({ id: early, attempts: 1 });
  expect(await fixture.succeed(early, message)).toBe('more');
  expect(await fixture.drain(later)).toEqual([later, last]);
  expect(await fixture.audit()).toMatchObject([
    {
      action: 'retry',
      group: fixture.group,
      id: early,
      result: 'retried',
      reason: ada.reason,
      details: { from: 'failed', attempts: 1 },
    },
  ]);
});

test('a retry parks a free key for the watcher to start, and later arrivals queue behind it', async (end) => {
  const fixture = await keptFixture(end);
  const [first, second] = [
    await fixture.keep('1', { state: 'failed' }),
    await fixture.keep('2', { state: 'failed' }),
  ];

  expect(await fixture.operator.inbox.retry(of(fixture, second), ada)).toMatchObject([{ result: 'retried' }]);

  expect(await fixture.keyOf(second)).toMatchObject({ toldAt: null });
  const third = await fixture.keep('3');
  expect(await fixture.operator.inbox.retry(of(fixture, first), ada)).toMatchObject([{ result: 'retried' }]);
  expect(await fixture.drain(second)).toEqual([first, second, third]);
  expect(await fixture.database.query('select 1 from outbox.parked_key')).toEqual([]);
});

test('a failed message that blocks its key frees it when retried, discarded or edited', async (end) => {
  const fixture = await keptFixture(end, { blockKey: true });
  for (const [n, action] of (['retry', 'discard', 'edit'] as const).entries()) {
    const key = `key-${n}`;
    const head = await fixture.keep('head', { key });
    const next = await fixture.keep('next', { key });
    await giveUp(fixture, await tried(fixture, head), true);
    expect(await fixture.begin(next)).toMatchObject({ kind: 'blocked' });
    const shown = await fixture.operator.inbox.show({ group: fixture.group, id: next });
    expect(shown).toMatchObject({ why: { code: 'key-blocked', text: expect.stringContaining(head) } });

    const answer =
      action === 'edit'
        ? await fixture.operator.inbox.edit({ group: fixture.group, id: head }, { ...ada, payload: 1 })
        : (await fixture.operator.inbox[action](of(fixture, head), ada), { id: head });

    expect(await fixture.keyOf(next)).toMatchObject({ toldAt: '-infinity' });
    expect(await fixture.drain(next)).toEqual(action === 'discard' ? [next] : [answer.id, next]);
  }
});

test('a parked message is tried at once when retried, and one behind it waits for it', async (end) => {
  const fixture = await keptFixture(end);
  const head = await fixture.keep('head', { retryInMs: 3_600_000 });
  const behind = await fixture.keep('behind');
  const key = await fixture.keyOf(head);
  await markKeysTold(fixture.database, [{ keyId: key?.id ?? '', toldAt: null }]);

  expect(await fixture.operator.inbox.retry(of(fixture, behind), ada)).toMatchObject([
    { result: 'behind-key', state: 'parked' },
  ]);
  expect((await fixture.keyOf(head))?.dueInMs).toBeGreaterThan(3_000_000);
  expect(await fixture.operator.inbox.retry(of(fixture, head), ada)).toMatchObject([{ result: 'retried' }]);

  expect((await fixture.keyOf(head))?.dueInMs).toBeLessThanOrEqual(0);
  expect(await tried(fixture, head)).toMatchObject({ id: head, attempts: 2 });
});

test('discarding the first message of a parked key lets the next one continue, and discarding the last frees the key', async (end) => {
  const fixture = await keptFixture(end);
  const head = await fixture.keep('head', { retryInMs: 3_600_000 });
  const [second, third] = [await fixture.keep('second'), await fixture.keep('third')];

  expect(await fixture.operator.inbox.discard(of(fixture, second), ada)).toMatchObject([
    { state: 'discarded' },
  ]);
  expect((await fixture.keyOf(head))?.dueInMs, 'the first keeps its time').toBeGreaterThan(3_000_000);
  await fixture.operator.inbox.discard(of(fixture, head), ada);
  expect((await fixture.keyOf(third))?.dueInMs).toBeLessThanOrEqual(0);
  await fixture.operator.inbox.discard(of(fixture, third), ada);

  expect(await fixture.database.query('select 1 from outbox.parked_key')).toEqual([]);
  expect(await fixture.states(head, second, third)).toEqual(['discarded', 'discarded', 'discarded']);
  const again = await fixture.database.transaction((sql) =>
    noteArrivals(sql, fixture.group, [
      { id: head, topic: 'orders', key: 'K' },
      { id: 'new', topic: 'orders', key: 'K' },
    ]),
  );
  expect(again, 'it is never handled, and its key is free').toEqual(['processed', 'new']);
});

test('discarding the last message of a key does not wait for a handler that is adding to it', async (end) => {
  const fixture = await keptFixture(end);
  const head = await fixture.keep('head');
  const handler = testGate(end);
  const received = testGate(end);
  const handling = fixture.database.transaction(async (sql) => {
    await noteArrivals(sql, fixture.group, [{ id: 'more', topic: 'orders', key: 'K' }]);
    received.open();
    await handler.opened;
  });
  await received.opened;

  expect(await fixture.operator.inbox.discard(of(fixture, head), ada)).toMatchObject([
    { result: 'discarded' },
  ]);

  expect(await fixture.database.query('select 1 from outbox.parked_key')).toHaveLength(1);
  handler.open();
  await handling;
});

test('a message that is being tried is busy for every operation and is left unchanged', async (end) => {
  const fixture = await keptFixture(end);
  const head = await fixture.keep('head');
  const behind = await fixture.keep('behind');
  const key = await fixture.keyOf(head);
  const handler = testGate(end);
  const locked = testGate(end);
  await tried(fixture, head);
  const handling = fixture.database.transaction(async (sql) => {
    await sql.query('select from outbox.parked_key where id = $1 for no key update', [key?.id]);
    locked.open();
    await handler.opened;
  });
  await locked.opened;
  const { inbox } = fixture.operator;

  expect(await inbox.show({ group: fixture.group, id: head })).toMatchObject({ why: { code: 'in-hand' } });
  expect(
    await Promise.all([inbox.retry(of(fixture, head), ada), inbox.discard(of(fixture, behind), ada)]),
  ).toMatchObject([[{ result: 'busy', state: 'parked' }], [{ result: 'busy', state: 'parked' }]]);
  await expect(inbox.edit({ group: fixture.group, id: head }, { ...ada, payload: 1 })).rejects.toMatchObject({
    code: 'OUTBOX_MESSAGE_BUSY',
    details: { why: 'busy' },
  });
  handler.open();
  await handling;
  expect((await fixture.audit()).map(({ result }) => result)).toEqual(['busy', 'busy', 'busy']);
});

test('a try that began before its message was discarded leaves it discarded', async (end) => {
  const fixture = await keptFixture(end);
  const head = await fixture.keep('head');
  const next = await fixture.keep('next');
  const message = await tried(fixture, head);

  expect(await fixture.operator.inbox.discard(of(fixture, head), ada)).toMatchObject([
    { result: 'discarded' },
  ]);

  expect(await fixture.succeed(next, message)).toBe('left');
  await giveUp(fixture, message);
  expect(await fixture.states(head, next)).toEqual(['discarded', 'parked']);
});

test('handled, ended and unknown messages are refused, and the refusal is in the audit', async (end) => {
  const fixture = await keptFixture(end);
  const [handled, gone] = [await fixture.keep('handled'), await fixture.keep('gone', { key: null })];
  await fixture.drain(handled);
  const { inbox } = fixture.operator;
  await inbox.discard(of(fixture, gone), ada);

  expect(await inbox.retry(of(fixture, handled, gone, 'nobody'), ada)).toMatchObject([
    { id: handled, result: 'too-late', state: 'handled' },
    { id: gone, result: 'too-late', state: 'discarded' },
    { id: 'nobody', result: 'unknown', state: null },
  ]);
  expect((await fixture.audit()).slice(1).map(({ id, result }) => [id, result])).toEqual([
    [handled, 'too-late'],
    [gone, 'too-late'],
    ['nobody', 'unknown'],
  ]);
});

test('a dry run answers what would happen and changes nothing', async (end) => {
  const fixture = await keptFixture(end);
  const failed = await fixture.keep('failed', { state: 'failed' });
  const dry = { ...ada, dryRun: true };
  const { inbox } = fixture.operator;

  expect(await inbox.retry(of(fixture, failed), dry)).toMatchObject([{ result: 'retried', state: 'parked' }]);
  expect(await inbox.discard(of(fixture, failed), dry)).toMatchObject([{ result: 'discarded' }]);
  expect(await inbox.edit({ group: fixture.group, id: failed }, { ...dry, payload: 1 })).toMatchObject({
    supersedes: failed,
  });

  expect(await fixture.states(failed)).toEqual(['failed']);
  expect(await fixture.audit()).toEqual([]);
  expect(await fixture.database.query('select 1 from outbox.parked_key')).toEqual([]);
});

test('of two operators on one message exactly one wins', async (end) => {
  const fixture = await keptFixture(end);
  const ids: string[] = [];
  const keys = 8;
  for (let n = 0; n < 40; n += 1)
    ids.push(await fixture.keep('m', { key: `key-${n % keys}`, state: 'failed' }));
  const { inbox } = fixture.operator;

  const rivals = (id: string) =>
    Promise.all([
      inbox.edit({ group: fixture.group, id }, { ...ada, payload: 'edited' }).then(
        () => 'edited',
        () => 'refused',
      ),
      inbox.discard(of(fixture, id), ada).then(([answer]) => answer?.result ?? ''),
    ]);
  const results: (readonly [string, string])[] = [];
  // One message of each key at a time: an operator with another one of the key in hand makes both give up.
  for (let from = 0; from < ids.length; from += keys)
    results.push(...(await Promise.all(ids.slice(from, from + keys).map(rivals))));

  for (const [edit, discard] of results) {
    const winners = (edit === 'edited' ? 1 : 0) + (discard === 'discarded' ? 1 : 0);
    expect(winners, `edit ${edit}, discard ${discard}`).toBe(1);
  }
  const edited = results.filter(([edit]) => edit === 'edited').length;
  const copies = await fixture.database.query(`select 1 from outbox.parked where state = 'parked'`);
  expect(copies).toHaveLength(edited);
  expect((await fixture.audit()).length).toBe(2 * ids.length);
});

test('nothing is done that cannot be recorded in the audit', async (end) => {
  const fixture = await keptFixture(end);
  const id = await fixture.keep('1', { state: 'failed' });
  await fixture.database.query('alter table outbox.audit add constraint none check (false) not valid');
  const { inbox } = fixture.operator;

  await expect(inbox.retry(of(fixture, id), ada)).rejects.toMatchObject({ code: '23514' });
  await expect(inbox.discard(of(fixture, id), ada)).rejects.toMatchObject({ code: '23514' });
  await expect(inbox.edit({ group: fixture.group, id }, { ...ada, payload: 1 })).rejects.toMatchObject({
    code: '23514',
  });

  expect(await fixture.states(id)).toEqual(['failed']);
  expect(await fixture.database.query('select 1 from outbox.parked_key')).toEqual([]);
});
