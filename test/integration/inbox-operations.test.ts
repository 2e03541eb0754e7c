import { expect, test } from 'vitest';
import { markKeysTold } from '../../src/store/inbox/parked-keys.ts';
import { receive } from '../../src/store/inbox/receive.ts';
import { heldGate } from '../support/fixtures/gate.ts';
import { giveUp, type KeptBench, keptBench } from '../support/fixtures/kept-bench.ts';
import { ada } from '../support/fixtures/operator.ts';

const of = ({ group }: KeptBench, ...ids: readonly string[]) => ({ group, ids });

/** Begins a try, which must be possible. */
async function tried(bench: KeptBench, id: string) {
  const begun = await bench.beginOnceKnown(id);
  if (begun.kind !== 'try') throw new Error(`no try, but ${begun.kind}`);
  return begun.message;
}

test('a failed message is retried in its old place, before those of its key that queue, with all tries', async (end) => {
  const bench = await keptBench(end);
  const early = await bench.keep('early', { state: 'failed' });
  const later = await bench.keep('later', { retryInMs: 3_600_000 });
  const last = await bench.keep('last');
  const key = await bench.keyOf(later);

  expect(await bench.operator.inbox.retry(of(bench, early), ada)).toEqual([
    { id: early, topic: 'orders', key: 'K', result: 'retried', state: 'parked' },
  ]);

  expect(await bench.keyOf(early)).toMatchObject({ id: key?.id, toldAt: '-infinity' });
  const message = await tried(bench, early);
  expect(message).toMatchObject({ id: early, attempts: 1 });
  expect(await bench.succeed(early, message)).toBe('more');
  expect(await bench.drain(later)).toEqual([later, last]);
  expect(await bench.audit()).toMatchObject([
    {
      action: 'retry',
      group: bench.group,
      id: early,
      result: 'retried',
      reason: ada.reason,
      details: { from: 'failed', attempts: 1 },
    },
  ]);
});

test('a retry parks a key that was free, for the watcher to start, and what arrives from then on queues behind it', async (end) => {
  const bench = await keptBench(end);
  const [first, second] = [
    await bench.keep('1', { state: 'failed' }),
    await bench.keep('2', { state: 'failed' }),
  ];

  expect(await bench.operator.inbox.retry(of(bench, second), ada)).toMatchObject([{ result: 'retried' }]);

  expect(await bench.keyOf(second)).toMatchObject({ toldAt: null });
  const third = await bench.keep('3');
  expect(await bench.operator.inbox.retry(of(bench, first), ada)).toMatchObject([{ result: 'retried' }]);
  expect(await bench.drain(second)).toEqual([first, second, third]);
  expect(await bench.database.query('select 1 from outbox.parked_key')).toEqual([]);
});

test('a failed message that holds its key lets it go on when it is retried, discarded or edited', async (end) => {
  const bench = await keptBench(end, { holdKey: true });
  for (const [n, action] of (['retry', 'discard', 'edit'] as const).entries()) {
    const key = `key-${n}`;
    const head = await bench.keep('head', { key });
    const next = await bench.keep('next', { key });
    await giveUp(bench, await tried(bench, head), true);
    expect(await bench.begin(next)).toMatchObject({ kind: 'held' });
    const shown = await bench.operator.inbox.show({ group: bench.group, id: next });
    expect(shown).toMatchObject({ why: { code: 'key-held', text: expect.stringContaining(head) } });

    const answer =
      action === 'edit'
        ? await bench.operator.inbox.edit({ group: bench.group, id: head }, { ...ada, payload: 1 })
        : (await bench.operator.inbox[action](of(bench, head), ada), { id: head });

    expect(await bench.keyOf(next)).toMatchObject({ toldAt: '-infinity' });
    expect(await bench.drain(next)).toEqual(action === 'discard' ? [next] : [answer.id, next]);
  }
});

test('a parked message is tried now when it is retried, and one behind it has to wait for it', async (end) => {
  const bench = await keptBench(end);
  const head = await bench.keep('head', { retryInMs: 3_600_000 });
  const behind = await bench.keep('behind');
  const key = await bench.keyOf(head);
  await markKeysTold(bench.database, [{ keyId: key?.id ?? '', toldAt: null }]);

  expect(await bench.operator.inbox.retry(of(bench, behind), ada)).toMatchObject([
    { result: 'behind-key', state: 'parked' },
  ]);
  expect((await bench.keyOf(head))?.dueInMs).toBeGreaterThan(3_000_000);
  expect(await bench.operator.inbox.retry(of(bench, head), ada)).toMatchObject([{ result: 'retried' }]);

  expect((await bench.keyOf(head))?.dueInMs).toBeLessThanOrEqual(0);
  expect(await tried(bench, head)).toMatchObject({ id: head, attempts: 2 });
});

test('discarding the first of a parked key lets the next one go, and the last one frees the key', async (end) => {
  const bench = await keptBench(end);
  const head = await bench.keep('head', { retryInMs: 3_600_000 });
  const [second, third] = [await bench.keep('second'), await bench.keep('third')];

  expect(await bench.operator.inbox.discard(of(bench, second), ada)).toMatchObject([{ state: 'discarded' }]);
  expect((await bench.keyOf(head))?.dueInMs, 'the first keeps its time').toBeGreaterThan(3_000_000);
  await bench.operator.inbox.discard(of(bench, head), ada);
  expect((await bench.keyOf(third))?.dueInMs).toBeLessThanOrEqual(0);
  await bench.operator.inbox.discard(of(bench, third), ada);

  expect(await bench.database.query('select 1 from outbox.parked_key')).toEqual([]);
  expect(await bench.states(head, second, third)).toEqual(['discarded', 'discarded', 'discarded']);
  const again = await bench.database.transaction((sql) =>
    receive(sql, bench.group, [
      { id: head, topic: 'orders', key: 'K' },
      { id: 'new', topic: 'orders', key: 'K' },
    ]),
  );
  expect(again, 'it is never handled, and its key is free').toEqual(['processed', 'new']);
});

test('while a handler adds to a key, discarding its last message does not wait for the handler', async (end) => {
  const bench = await keptBench(end);
  const head = await bench.keep('head');
  const handler = heldGate(end);
  const received = heldGate(end);
  const handling = bench.database.transaction(async (sql) => {
    await receive(sql, bench.group, [{ id: 'more', topic: 'orders', key: 'K' }]);
    received.open();
    await handler.opened;
  });
  await received.opened;

  expect(await bench.operator.inbox.discard(of(bench, head), ada)).toMatchObject([{ result: 'discarded' }]);

  expect(await bench.database.query('select 1 from outbox.parked_key')).toHaveLength(1);
  handler.open();
  await handling;
});

test('what is being tried at this moment is busy for everybody, and nothing is done to it', async (end) => {
  const bench = await keptBench(end);
  const head = await bench.keep('head');
  const behind = await bench.keep('behind');
  const key = await bench.keyOf(head);
  const handler = heldGate(end);
  const locked = heldGate(end);
  const handling = bench.database.transaction(async (sql) => {
    await sql.query('select from outbox.parked_key where id = $1 for no key update', [key?.id]);
    locked.open();
    await handler.opened;
  });
  await locked.opened;
  const { inbox } = bench.operator;

  expect(await inbox.show({ group: bench.group, id: head })).toMatchObject({ why: { code: 'in-hand' } });
  expect(
    await Promise.all([inbox.retry(of(bench, head), ada), inbox.discard(of(bench, behind), ada)]),
  ).toMatchObject([[{ result: 'busy', state: 'parked' }], [{ result: 'busy', state: 'parked' }]]);
  await expect(inbox.edit({ group: bench.group, id: head }, { ...ada, payload: 1 })).rejects.toMatchObject({
    code: 'OUTBOX_CONFLICT',
    details: { why: 'busy' },
  });
  handler.open();
  await handling;
  expect((await bench.audit()).map(({ result }) => result)).toEqual(['busy', 'busy', 'busy']);
});

test('a try that was begun before its message was discarded leaves it alone', async (end) => {
  const bench = await keptBench(end);
  const head = await bench.keep('head');
  const next = await bench.keep('next');
  const message = await tried(bench, head);

  expect(await bench.operator.inbox.discard(of(bench, head), ada)).toMatchObject([{ result: 'discarded' }]);

  expect(await bench.succeed(next, message)).toBe('left');
  await giveUp(bench, message);
  expect(await bench.states(head, next)).toEqual(['discarded', 'parked']);
});

test('what was handled, ended or never there is refused, and the refusal is in the audit', async (end) => {
  const bench = await keptBench(end);
  const [handled, gone] = [await bench.keep('handled'), await bench.keep('gone', { key: null })];
  await bench.drain(handled);
  const { inbox } = bench.operator;
  await inbox.discard(of(bench, gone), ada);

  expect(await inbox.retry(of(bench, handled, gone, 'nobody'), ada)).toMatchObject([
    { id: handled, result: 'too-late', state: 'handled' },
    { id: gone, result: 'too-late', state: 'discarded' },
    { id: 'nobody', result: 'unknown', state: null },
  ]);
  expect((await bench.audit()).slice(1).map(({ id, result }) => [id, result])).toEqual([
    [handled, 'too-late'],
    [gone, 'too-late'],
    ['nobody', 'unknown'],
  ]);
});

test('a dry run answers what would happen, and changes nothing', async (end) => {
  const bench = await keptBench(end);
  const failed = await bench.keep('failed', { state: 'failed' });
  const dry = { ...ada, dryRun: true };
  const { inbox } = bench.operator;

  expect(await inbox.retry(of(bench, failed), dry)).toMatchObject([{ result: 'retried', state: 'parked' }]);
  expect(await inbox.discard(of(bench, failed), dry)).toMatchObject([{ result: 'discarded' }]);
  expect(await inbox.edit({ group: bench.group, id: failed }, { ...dry, payload: 1 })).toMatchObject({
    supersedes: failed,
  });
  expect(await inbox.many({ group: bench.group, states: ['failed'] }, 'discard', dry)).toMatchObject({
    count: 1,
    counts: { done: 0 },
  });

  expect(await bench.states(failed)).toEqual(['failed']);
  expect(await bench.audit()).toEqual([]);
  expect(await bench.database.query('select 1 from outbox.parked_key')).toEqual([]);
});

test('of two operators at the same message exactly one wins', async (end) => {
  const bench = await keptBench(end);
  const ids: string[] = [];
  const keys = 8;
  for (let n = 0; n < 40; n += 1)
    ids.push(await bench.keep('m', { key: `key-${n % keys}`, state: 'failed' }));
  const { inbox } = bench.operator;

  const rivals = (id: string) =>
    Promise.all([
      inbox.edit({ group: bench.group, id }, { ...ada, payload: 'edited' }).then(
        () => 'edited',
        () => 'refused',
      ),
      inbox.discard(of(bench, id), ada).then(([answer]) => answer?.result ?? ''),
    ]);
  const results: (readonly [string, string])[] = [];
  // One message of each key at a time: whoever has another one of the key in hand makes both of them give up.
  for (let from = 0; from < ids.length; from += keys)
    results.push(...(await Promise.all(ids.slice(from, from + keys).map(rivals))));

  for (const [edit, discard] of results) {
    const winners = (edit === 'edited' ? 1 : 0) + (discard === 'discarded' ? 1 : 0);
    expect(winners, `edit ${edit}, discard ${discard}`).toBe(1);
  }
  const edited = results.filter(([edit]) => edit === 'edited').length;
  const copies = await bench.database.query(`select 1 from outbox.parked where state = 'parked'`);
  expect(copies).toHaveLength(edited);
  expect((await bench.audit()).length).toBe(2 * ids.length);
});

test('nothing is done that cannot be entered into the audit', async (end) => {
  const bench = await keptBench(end);
  const id = await bench.keep('1', { state: 'failed' });
  await bench.database.query('alter table outbox.audit add constraint none check (false) not valid');
  const { inbox } = bench.operator;

  await expect(inbox.retry(of(bench, id), ada)).rejects.toMatchObject({ code: '23514' });
  await expect(inbox.discard(of(bench, id), ada)).rejects.toMatchObject({ code: '23514' });
  await expect(inbox.edit({ group: bench.group, id }, { ...ada, payload: 1 })).rejects.toMatchObject({
    code: '23514',
  });

  expect(await bench.states(id)).toEqual(['failed']);
  expect(await bench.database.query('select 1 from outbox.parked_key')).toEqual([]);
});
