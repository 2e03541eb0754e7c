import { afterEach, expect, test } from 'vitest';
import { permanent } from '../../../src/inbox/verdict.ts';
import { verifyEffects } from '../../../src/store/verify/effects.ts';
import { operatorOf } from '../../support/fixtures/kept-bulk.ts';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { ada } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

const expiring = (n: number, inMs: number) => ({
  ce_id: `id-${n}`,
  ce_type: 'numbers',
  ce_expirytime: new Date(Date.now() + inMs).toISOString(),
});

const notTimes = [
  'soon',
  '60',
  '5',
  '0',
  '-1',
  'never-1',
  'tomorrow 5',
  '2020',
  '2020-02-30T00:00:00Z',
  '2020-01-01T00:00',
];

test.each([false, true])(
  'of an expired message the id is stored, and no handler called; others of its batch are handled (in batches: %s)',
  { tags: ['expired-not-sent'] },
  async (inBatches) => {
    inbox = await openInbox();
    const running = await inbox.consume({ inBatches, batch: { size: 10 } });
    const past = expiring(2, -1_000);
    inbox.feed(
      { n: 1, key: 'a', headers: expiring(1, 3_600_000) },
      { n: 2, key: 'a', headers: past },
      { n: 3, key: 'a' },
      // What JavaScript takes for times in the past.
      ...notTimes.map((ce_expirytime, at) => ({
        n: 4 + at,
        headers: { ...expiring(4 + at, 0), ce_expirytime },
      })),
    );
    await until(() => running.counts().handled + running.counts().expired === 3 + notTimes.length);
    inbox.feed({ n: 2, key: 'a', headers: past }, { n: 2, key: 'a' });
    await until(() => running.counts().duplicates === 2);

    expect((await inbox.effects()).toSorted((a, b) => a - b)).toEqual([
      1,
      3,
      ...notTimes.map((_, at) => 4 + at),
    ]);
    expect(running.counts()).toMatchObject({
      handled: 2 + notTimes.length,
      expired: 1,
      parked: 0,
      failed: 0,
    });
    expect(running.events.filter(({ type }) => type === 'expired')).toMatchObject([
      { id: 'id-2', offset: '1' },
    ]);
  },
);

test('a message that expires while its tries fail is dropped at the next try, parked or not, and its key continues', {
  tags: ['expired-not-sent'],
}, async () => {
  inbox = await openInbox();
  const tries: number[] = [];
  const running = await inbox.consume({
    quickRetries: [],
    retry: ['1s', '1s', '1s', '1s', '1s'],
    before: ({ payload: { n } }) => {
      tries.push(n);
      if (n === 1) throw new Error('not yet');
    },
  });
  inbox.feed({ n: 1, key: 'a', headers: expiring(1, 1_500) }, { n: 2, key: 'a' });
  await until(
    () => running.counts().expired + running.counts().failed === 1 && running.counts().handled === 1,
  );

  expect(await inbox.effects()).toEqual([2]);
  expect(await inbox.kept()).toEqual([]);
  expect(tries.filter((n) => n === 1).length).toBeLessThan(4);
  expect(running.events.filter(({ type }) => type === 'expired')).toMatchObject([{ id: 'id-1' }]);
});

test('a verification does not miss the effects of expired messages, dropped on arrival or while parked', {
  tags: ['expired-not-sent'],
}, async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: [],
    retry: ['1s', '1s', '1s', '1s', '1s'],
    before: ({ payload: { n } }) => {
      if (n === 3) throw new Error('not yet');
    },
  });
  inbox.feed(
    { n: 1, key: 'a', headers: expiring(1, 3_600_000) },
    { n: 2, key: 'a', headers: expiring(2, -1_000) },
    { n: 3, key: 'b', headers: expiring(3, 1_500) },
    { n: 4, key: 'a', headers: expiring(4, 3_600_000) },
  );
  await until(() => running.counts().expired === 2 && running.counts().handled === 2);
  await inbox.database.query('delete from effect where n = 4');

  const query = `select 'id-' || n as id, count(*) as effects from effect group by n`;
  const verified = () =>
    inbox.database.transaction((sql) => verifyEffects(sql, { query, group: inbox.group }, null));
  const lost = { what: 'It is processed and had no effect.', id: 'id-4' };
  expect(await verified()).toMatchObject({ checked: 4, violations: 1, first: [lost] });
});

test('what is no time with a zone does not expire a kept message: it is shown and retried', async (context) => {
  inbox = await openInbox();
  const running = await inbox.consume({
    before: () => {
      throw permanent(new Error('not this one'));
    },
  });
  const texts = [...notTimes, '20200101', '2020-01-01T00:00:00 Z', 'epoch'];
  inbox.feed(
    ...texts.map((ce_expirytime, n) => ({
      n,
      key: String(n),
      headers: { ...expiring(n, 0), ce_expirytime },
    })),
  );
  await until(() => running.counts().failed === texts.length);
  const { inbox: kept } = operatorOf(inbox, context);
  const { group } = inbox;

  const shown = await Promise.all(texts.map((_, n) => kept.show({ group, id: `id-${n}` })));
  expect(JSON.stringify(shown)).not.toContain('has expired');
  const retried = await kept.retry({ group, ids: texts.map((_, n) => `id-${n}`) }, ada);
  expect(retried.map(({ result }) => result)).toEqual(texts.map(() => 'retried'));
});

test('a retry of an expired failed message is refused by name, and an edit has it handled', {
  tags: ['expired-not-sent'],
}, async (context) => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: [],
    retry: [],
    before: ({ payload: { n } }) => {
      if (n < 3) throw new Error('not yet');
    },
  });
  const headers = expiring(1, 3_600_000);
  inbox.feed({ n: 1, key: 'a', headers }, { n: 2, key: 'b', headers: expiring(2, 3_600_000) });
  await until(() => running.counts().failed === 2);
  await inbox.database.query(
    `update outbox.parked set wire = replace(wire, $1, $2) where message_id = 'id-1'`,
    [headers.ce_expirytime, new Date(Date.now() - 1_000).toISOString()],
  );
  const { inbox: kept } = operatorOf(inbox, context);
  const { group } = inbox;

  expect(await kept.retry({ group, ids: ['id-1', 'id-2'] }, ada)).toMatchObject([
    { id: 'id-1', result: 'expired', state: 'failed', key: 'a' },
    { id: 'id-2', result: 'retried', state: 'parked' },
  ]);
  expect(await kept.show({ group, id: 'id-1' })).toMatchObject({
    why: { code: 'failed', text: expect.stringContaining('It has expired: discard it, or edit it') },
    audit: [{ action: 'retry', result: 'expired' }],
  });

  const { id } = await kept.edit({ group, id: 'id-1' }, { ...ada, payload: { n: 3 } });
  await until(() => running.counts().handled + running.counts().expired === 1);
  expect(running.counts().expired).toBe(0);
  expect(await inbox.effects()).toEqual([3]);
  expect(running.events.filter(({ type }) => type === 'handled')).toMatchObject([{ id }]);
});
