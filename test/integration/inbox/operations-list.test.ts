import { expect, test } from 'vitest';
import { type KeptState, keptStates, keptTransitions } from '../../../src/core/parked-states.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { giveUp, type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';

async function labels(fixture: KeptFixture, filter: object): Promise<string> {
  const { messages } = await fixture.operator.inbox.list({ group: fixture.group, ...filter });
  return messages.map(({ id }) => id.split('-')[0]).join(' ');
}

test('kept messages are listed by group, topic, state, key, reason and age, the latest first', async (end) => {
  const fixture = await keptFixture(end);
  await fixture.keep('A', { state: 'failed', reason: 'invalid' });
  const old = await fixture.keep('B', { key: 'other' });
  await fixture.keep('C');
  await fixture.database.query(
    `update outbox.parked set arrived_at = arrived_at - interval '2 h' where message_id = $1`,
    [old],
  );

  expect(await labels(fixture, {})).toBe('C B A');
  expect(await labels(fixture, { states: ['failed'] })).toBe('A');
  expect(await labels(fixture, { key: 'other' })).toBe('B');
  expect(await labels(fixture, { reason: 'invalid' })).toBe('A');
  expect(await labels(fixture, { olderThan: '1h' })).toBe('B');
  expect(await labels(fixture, { topic: 'payments' })).toBe('');
  expect(await labels(fixture, { group: 'nobody' })).toBe('');
  expect((await fixture.operator.inbox.list()).messages).toHaveLength(3);
  const bad = [{ states: [] }, { olderThan: 'soon' }, { colour: 'red' }, { group: '' }];
  for (const filter of bad)
    await expect(fixture.operator.inbox.list(filter as object)).rejects.toMatchObject({
      code: 'OUTBOX_OPTION_INVALID',
    });
});

test('only what no other message of its key goes before is listed as a head, with every other condition and on every page', async (end) => {
  const fixture = await keptFixture(end);
  await fixture.keep('A', { retryInMs: 3_600_000 });
  await fixture.keep('B');
  await fixture.keep('C');
  await fixture.keep('D', { key: 'other' });
  await fixture.keep('E', { key: 'other' });
  await fixture.keep('F', { state: 'failed', key: null });
  const heads = { group: fixture.group, head: true };

  expect(await labels(fixture, {})).toBe('F E D C B A');
  expect(await labels(fixture, { head: false })).toBe('F E D C B A');
  expect(await labels(fixture, heads)).toBe('F D A');
  expect(await labels(fixture, { ...heads, key: 'K' })).toBe('A');
  const first = await fixture.operator.inbox.list(heads, { limit: 2 });
  const rest = await fixture.operator.inbox.list(heads, { limit: 2, after: first.next ?? '' });
  expect(rest).toMatchObject({
    messages: [{ key: 'K', lastError: 'Error: the bank is closed' }],
    next: null,
  });
  const told = await runCli(['inbox', 'list', '--head', '--key', 'other', '--json'], {
    DATABASE_URL: fixture.url,
  });
  expect(JSON.parse(told.stdout)).toMatchObject({ messages: [{ id: first.messages[1]?.id }] });
});

test('pages have every message of every group once, also copies with the same offset', async (end) => {
  const fixture = await keptFixture(end);
  for (let n = 0; n < 7; n += 1) {
    const id = await fixture.keep(`m${n}`, { key: `ü/${n}`, state: 'failed' });
    if (n % 3 === 0) await fixture.operator.inbox.edit({ group: fixture.group, id }, { ...ada, payload: n });
  }
  await fixture.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
     values ('another group', '_ _', 'failed', 'orders', 'a', 0, '0', '{}', now())`,
  );

  const seen: string[] = [];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof fixture.operator.inbox.list>> = await fixture.operator.inbox.list(
      {},
      { limit: 2, ...(after !== null && { after }) },
    );
    seen.push(...page.messages.map(({ id }) => id));
    after = page.next;
  } while (after !== null);

  expect(seen).toHaveLength(11);
  expect(new Set(seen).size).toBe(11);
});

test('show has everything about a message, why it waits, and what was done to it', async (end) => {
  const fixture = await keptFixture(end);
  const { group } = fixture;
  const show = (id: string) => fixture.operator.inbox.show({ group, id });
  const head = await fixture.keep('head', { retryInMs: 3_600_000 });
  const behind = await fixture.keep('behind');
  const alone = await fixture.keep('alone', { key: null, state: 'failed' });
  await fixture.operator.inbox.retry({ group, ids: [behind] }, ada);

  const shown = await show(head);
  expect(shown).toMatchObject({
    message: {
      group,
      key: 'K',
      topic: 'orders',
      address: 'orders.address',
      partition: 0,
      offset: '7',
      headers: { note: 'old' },
      body: { text: '{"n":"head"}' },
      parkedKey: {
        workflowId: expect.stringContaining(`/parked/${group}/`),
        before: 0,
        workflowStarted: false,
      },
    },
    why: {
      code: 'next-try',
      text: expect.stringMatching(/^Its last try failed: Error: the bank is closed\. .* in (?:59 min|1 h)/),
    },
    audit: [],
  });
  expect(await show(behind)).toMatchObject({
    why: {
      code: 'behind-key',
      text: expect.stringContaining(`1 message of the key "K" goes first, beginning with ${head}`),
    },
    audit: [{ actor: 'ada', action: 'retry', result: 'behind-key' }],
  });
  expect(await show(alone)).toMatchObject({
    why: { code: 'failed', text: expect.stringMatching(/Retry, edit or discard it\.$/) },
  });
  expect(await show('nobody')).toMatchObject({ message: null, handled: false });
});

test('status shows what groups keep, since when, and their windows', async (end) => {
  const fixture = await keptFixture(end, { blockKey: true });
  const { database, group, operator } = fixture;
  await fixture.keep('A', { state: 'failed', key: null });
  const blocked = await fixture.keep('B');
  await fixture.keep('C');
  const begun = await fixture.beginOnceKnown(blocked);
  if (begun.kind !== 'try') throw new Error(begun.kind);
  await giveUp(fixture, begun.message, true);
  await database.query(
    `insert into outbox.consumer_group (consumer_group, window_ms, seen_at) values ($1, 3600000, now()), ('z idle', null, now())`,
    [group],
  );

  expect((await operator.status()).groups).toEqual([
    {
      group,
      parked: 1,
      oldestParkedMs: expect.any(Number),
      parkedKeys: 1,
      blockedKeys: 1,
      failed: 2,
      oldestFailedMs: expect.any(Number),
      windowMs: 3_600_000,
      seenMs: expect.any(Number),
    },
    expect.objectContaining({ group: 'z idle', parked: 0, oldestParkedMs: null, failed: 0, windowMs: null }),
  ]);
});

test('of all pairs of states the database accepts exactly the changes in the table', async (end) => {
  const fixture = await keptFixture(end);
  const undo = new Error('undo');
  const accepts = async (from: KeptState, to: KeptState): Promise<boolean> => {
    const attempt = fixture.database.transaction(async (sql) => {
      await sql.query(
        `insert into outbox.parked (consumer_group, message_id, state, key_id, topic, address, partition, "offset", wire, sent_at)
         values ('g', 'm', $1, gen_random_uuid(), 't', 'a', 0, '0', '{}', now())`,
        [from],
      );
      await sql.query(`update outbox.parked set state = $1 where message_id = 'm'`, [to]);
      throw undo;
    });
    const failure = await attempt.catch((error: unknown) => error);
    if (failure === undo) return true;
    expect(failure).toMatchObject({
      code: 'OB001',
      message: `outbox: ${from} cannot become ${to}`,
      detail: 'message m',
    });
    return false;
  };
  const accepted: string[] = [];
  for (const from of keptStates)
    for (const to of keptStates)
      if (from !== to && (await accepts(from, to))) accepted.push(`${from} → ${to}`);

  expect(accepted.toSorted()).toEqual(keptTransitions.map(({ from, to }) => `${from} → ${to}`).toSorted());
});
