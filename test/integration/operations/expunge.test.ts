import { createHash, randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { replayMessages } from '../../../src/store/bulk/replay.ts';
import { confirmMessages } from '../../../src/store/message/confirm.ts';
import { takeOut } from '../../../src/store/message/take-out.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { type ArchiveFixture, archiveOf } from '../../support/fixtures/archive-fixture.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { leavesOf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { ada, auditOf, failAll, type Operator, ownOperator } from '../../support/fixtures/operator.ts';
import { indexesOn, tablesWith } from '../../support/fixtures/stored-text.ts';

turnNoLeaves();

let at: ArchiveFixture;
let fixture: LaneFixture;
let operator: Operator;
beforeEach(async () => {
  fixture = await ownLane();
  at = archiveOf(fixture);
  operator = ownOperator(fixture);
});

const canary = 'canary-4711';
const headers = { email: canary };

/** Sends and publishes messages that have the canary as payload and header: one in the log, and one beside it. */
async function deliver(label: string): Promise<readonly string[]> {
  const of = [`${canary} ${label}`, `${canary} ${label} beside`] as const;
  await fixture.send(of[0], { key: 'K', headers });
  await fixture.send(of[1], { key: 'K', headers, id: randomUUID() });
  await fixture.drain();
  return of;
}

/** Published messages in the history, its leaves, a passed leaf and the current one. */
async function fillEveryTable(): Promise<readonly string[]> {
  const archived = await deliver('archived');
  await at.age('1 year');
  await at.archive({ archiveAfterMs: 24 * 3_600_000, historyMs: 2 * 366 * 24 * 3_600_000 });
  const passed = await deliver('passed');
  await turnLeaf(fixture.database);
  return [...archived, ...passed, ...(await deliver('current'))];
}

test('after the expunge of an edited message nothing is left from which its payload could be found by trying', {
  tags: ['expunged-is-gone'],
}, async () => {
  await failAll(fixture, [canary]);
  const original = fixture.idOf(canary);
  const { id: copy } = await operator.edit(original, { ...ada, payload: `${canary} edited` });
  await fixture.drain();

  await operator.expunge({ ids: [original, copy] }, ada);

  const texts = [canary, `${canary} edited`].map((text) => JSON.stringify(text));
  const made = ['md5', 'sha1', 'sha256'].flatMap((algorithm) =>
    texts.flatMap((text) => {
      const hash = createHash(algorithm).update(text).digest();
      return [hash.toString('hex'), hash.toString('base64url')];
    }),
  );
  for (const text of [canary, ...made]) expect(await tablesWith(fixture.database, text), text).toEqual([]);
});

test('expunge removes payload and headers of a message wherever it lies, and leaves the rest of its row', {
  tags: ['expunged-is-gone'],
}, async () => {
  const labels = await fillEveryTable();
  const leaves = await leavesOf(fixture.database);
  expect(leaves.map((leaf) => leaf.split(' ')[1])).toEqual(['log_history', 'log_passed', 'log']);
  const history = (await tablesWith(fixture.database, canary)).filter((name) => !name.startsWith('log_'));
  expect(history).toEqual(['message', expect.stringMatching(/^message_history_/)]);
  const rest = `select to_jsonb(a) - '{payload,headers,expunged_at}'::text[] as row from outbox.message_all a order by position`;
  const before = await fixture.database.query(rest);

  const answers = await operator.expunge(operator.of(...labels), ada);

  expect(answers.map(({ result, state }) => [result, state])).toEqual(
    labels.map(() => ['expunged', 'published']),
  );
  expect(await tablesWith(fixture.database, canary)).toEqual([]);
  expect(
    await indexesOn(fixture.database, ['payload', 'headers', 'last_error', 'error', 'body', 'wire']),
  ).toEqual([]);
  expect(await fixture.database.query(rest)).toEqual(before);
  for (const label of labels)
    expect(await operator.show(fixture.idOf(label))).toMatchObject({
      message: { payload: '', headers: null, expungedAt: expect.any(Date), state: 'published' },
    });
  expect(await auditOf(fixture)).toMatchObject(
    labels.map((label) => ({
      action: 'expunge',
      id: fixture.idOf(label),
      result: 'expunged',
      reason: ada.reason,
      details: { state: 'published' },
    })),
  );
});

test('an expunged message stays so when the archive moves it, and is not published again', async () => {
  const labels = await deliver('live');
  await operator.expunge(operator.of(...labels), ada);
  await at.age('25 hours');
  expect(await at.archive()).toMatchObject({ archived: 2 });

  for (const label of labels)
    expect(await operator.show(fixture.idOf(label))).toMatchObject({
      message: { archivedAt: expect.any(Date), expungedAt: expect.any(Date), payload: '' },
    });
  await fixture.send('later');
  await fixture.drain();
  expect(fixture.broker.labels).toEqual([...labels, 'later']);
});

test('expunge removes the errors of a failed message once it is discarded, and repeated it is as before', async () => {
  await failAll(fixture, [canary]);
  const { database } = fixture;
  await database.query(`update outbox.message set last_error = $1`, [canary]);
  await database.query(`update outbox.attempt set error = $1`, [canary]);
  expect(await operator.expunge(operator.of(canary), ada)).toMatchObject([
    { result: 'not-ended', state: 'failed' },
  ]);
  expect(await tablesWith(database, canary)).toEqual(['attempt', 'message']);
  await operator.discard(operator.of(canary), ada);

  expect(await operator.expunge(operator.of(canary), { ...ada, dryRun: true })).toMatchObject([
    { result: 'expunged' },
  ]);
  expect(await tablesWith(database, canary)).toEqual(['attempt', 'message']);
  expect(await operator.expunge(operator.of(canary), ada)).toMatchObject([{ result: 'expunged' }]);
  expect(await tablesWith(database, canary)).toEqual([]);
  const first = await operator.show(fixture.idOf(canary));
  expect(first?.attempts).toMatchObject([{ outcome: 'permanent', error: null }]);
  const printed = await runCli(['show', fixture.idOf(canary), '--payload'], { DATABASE_URL: fixture.url });
  expect(printed.stdout).toMatch(/^payload +expunged \d{4}-.*Z, with headers and errors$/m);
  expect(await operator.expunge(operator.of(canary), ada)).toMatchObject([{ result: 'expunged' }]);
  expect((await operator.show(fixture.idOf(canary)))?.message?.expungedAt).toEqual(
    first?.message?.expungedAt,
  );
});

test('what may still be sent is not expunged, and the command says what to do first', {
  tags: ['expunged-is-gone'],
}, async () => {
  await failAll(fixture, ['failed']);
  await fixture.send('waiting', { afterMs: 3_600_000 });
  await fixture.send('retrying', { key: 'K' });
  fixture.broker.judge = () => 'reject';
  await fixture.drain();
  await fixture.send('blocked', { key: 'K' });
  await fixture.drain();
  await fixture.send('ready');
  const labels = ['failed', 'waiting', 'retrying', 'blocked', 'ready'];
  expect(await fixture.states(...labels)).toEqual(labels);
  const before = await fixture.database.query('select * from outbox.message order by position');

  const ids = labels.map((label) => fixture.idOf(label));
  const { code, stderr, stdout } = await runCli(['expunge', ...ids, '--yes'], { DATABASE_URL: fixture.url });

  expect(code).toBe(1);
  expect(stdout.match(/not-ended/g)).toHaveLength(5);
  expect(stderr).toContain('not-ended: failed: discard it first.');
  expect(stderr).toContain('not-ended: waiting: cancel it first.');
  expect(stderr).toContain('not-ended: ready: withdraw it first, or wait until it is published.');
  expect(await fixture.database.query('select * from outbox.message order by position')).toEqual(before);
});

test('a replay leaves expunged messages out, also when they are named', async () => {
  const [first = '', second = ''] = await deliver('sent');
  await operator.expunge(operator.of(first), ada);
  const { ids } = operator.of(first, second);

  const all = await operator.bulk.start({ topic: 'orders' }, { action: 'replay' }, { ...ada, dryRun: true });
  expect(all).toMatchObject({ count: 1, sample: [{ id: fixture.idOf(second) }] });
  const named = await operator.bulk.start(
    { topic: 'orders' },
    { action: 'replay', ids },
    { ...ada, dryRun: true },
  );
  expect(named).toMatchObject({ count: 1, sample: [{ id: fixture.idOf(second) }] });
});

test('a failed message that was archived is expunged: nothing can send it again', async () => {
  await failAll(fixture, [canary]);
  await at.age('91 days');
  expect(await at.archive({ archiveFailedAfterMs: 24 * 3_600_000 })).toMatchObject({ archived: 1 });

  expect(await operator.expunge(operator.of(canary), ada)).toMatchObject([
    { result: 'expunged', state: 'failed' },
  ]);
  expect(await tablesWith(fixture.database, canary)).toEqual([]);
});

test('what was expunged is still a duplicate for its sender', async () => {
  const id = await fixture.send(canary, { id: randomUUID() });
  await fixture.drain();
  await operator.expunge({ ids: [id] }, ada);

  const [again] = await storeMessages(fixture.database, 'orders', [{ id, payload: JSON.stringify(canary) }]);

  expect(again).toMatchObject({ id, duplicate: true, refusal: null });
  expect(await tablesWith(fixture.database, canary)).toEqual([]);
});

test('a replay that has chosen a message before it was expunged passes it over', async () => {
  const [first = '', second = ''] = await deliver('chosen');
  const ids = [first, second].map((label) => fixture.idOf(label));
  await operator.expunge(operator.of(first), ada);

  const filter = { topic: 'orders', states: ['published'] } as const;
  const round = await fixture.database.transaction((sql) =>
    replayMessages(sql, { filter, ids, to: 'orders', author: { actor: 'ada' } }),
  );

  expect(round.answers.map(({ id, result }) => [id, result])).toEqual([
    [ids[1], 'replayed'],
    [ids[0], 'too-late'],
  ]);
  expect(await fixture.database.query('select from outbox.message_all')).toHaveLength(3);
});

test('a published message that awaits its receipt is not expunged, and one that has it is', {
  tags: ['expunged-is-gone'],
}, async () => {
  const confirmed = await ownLane({ confirm: { group: 'g', receiptTimeout: '1h' } });
  const at2 = ownOperator(confirmed);
  await confirmed.send(canary);
  await confirmed.drain();
  expect(await at2.expunge(at2.of(canary), ada)).toMatchObject([{ result: 'not-ended', state: 'published' }]);
  expect(await tablesWith(confirmed.database, canary)).toEqual(['message']);

  await confirmMessages(confirmed.database, 'g', [confirmed.idOf(canary)]);

  expect(await at2.expunge(at2.of(canary), ada)).toMatchObject([{ result: 'expunged', state: 'confirmed' }]);
  expect(await tablesWith(confirmed.database, canary)).toEqual([]);
});

test('an expunged message of the log stays so beside it', async () => {
  const [label = ''] = await deliver('log');
  await operator.expunge(operator.of(label), ada);
  const id = fixture.idOf(label);

  await takeOut(fixture.database, [id]);

  expect(await fixture.database.query('select from only outbox.message where id = $1', [id])).toHaveLength(1);
  expect((await operator.show(id))?.message).toMatchObject({ expungedAt: expect.any(Date), payload: '' });
});

test('a message that somebody else holds, live or archived, is busy and left alone', async () => {
  const labels = await fillEveryTable();
  const other = await fixture.begin();
  for (const table of ['message', 'log_history', 'message_history'])
    await other.query(`select from outbox.${table} where id = any($1::uuid[]) for update`, [
      labels.map((label) => fixture.idOf(label)),
    ]);

  const answers = await operator.expunge(operator.of(...labels), ada);

  await other.rollback();
  expect(answers.map(({ result }) => result)).toEqual(labels.map(() => 'busy'));
  const [unknown] = await operator.expunge({ ids: [randomUUID()] }, ada);
  expect(unknown).toMatchObject({ result: 'unknown', state: null });
});
