import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { setTrap } from '../../../src/core/crash-point.ts';
import type { MessageFilter } from '../../../src/operations/list.ts';
import { createRelayBulkRunner } from '../../../src/relay/bulk.ts';
import { type ArchiveFixture, archiveOf } from '../../support/fixtures/archive-fixture.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { leavesOf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { ada, auditOf, failAll, type Operator, ownOperator } from '../../support/fixtures/operator.ts';
import { startTestRelay, type TestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

turnNoLeaves();

let at: ArchiveFixture;
let fixture: LaneFixture;
let operator: Operator;
let relay: TestRelay | undefined;
beforeEach(async () => {
  fixture = await ownLane();
  at = archiveOf(fixture);
  operator = ownOperator(fixture);
});
afterEach(async () => {
  await relay?.stop();
  relay = undefined;
});

const replay = { action: 'replay' } as const;
const ofOrders = { topic: 'orders' } as const;

const untilDone = (id: string | null): Promise<void> =>
  until(async () => (await operator.bulk.show(id ?? '')).finishedAt !== null);

/** Sends these in order, each odd one beside the log, and publishes them. */
async function deliver(...labels: readonly string[]): Promise<void> {
  for (const [n, label] of labels.entries())
    await fixture.send(label, { key: label.slice(0, 1), ...(n % 2 === 1 && { id: randomUUID() }) });
  await fixture.drain();
}

/** Messages in the history and its leaves, in a passed leaf, and in the current one: of two keys, in turns. */
async function fillEveryTable(): Promise<readonly string[]> {
  await deliver('K1', 'L1', 'K2', 'L2');
  await at.age('1 year');
  await at.archive({ archiveAfterMs: 24 * 3_600_000, historyMs: 2 * 366 * 24 * 3_600_000 });
  await deliver('L3', 'K3', 'K4', 'L4');
  await turnLeaf(fixture.database);
  await deliver('K5', 'L5', 'K6', 'L6');
  return ['K1', 'L1', 'K2', 'L2', 'L3', 'K3', 'K4', 'L4', 'K5', 'L5', 'K6', 'L6'];
}

/** What a replay has published: the copies, in the order of their arrival. */
async function replayed(filter: MessageFilter): Promise<readonly string[]> {
  const before = fixture.broker.log.length;
  relay ??= await startTestRelay(fixture);
  const { id, count } = await operator.bulk.start(filter, replay, ada);
  await untilDone(id);
  await until(() => Promise.resolve(fixture.broker.log.length >= before + count));
  return fixture.broker.labels.slice(before);
}

test('the command replays a topic from history and live tables in the order of each key, with new ids', {
  tags: ['replay-once-in-order'],
}, async () => {
  const labels = await fillEveryTable();
  expect((await at.whereabouts('K1', 'L1')).map((where) => where.split(' ')[0])).toEqual([
    'archived',
    'archived',
  ]);
  expect((await leavesOf(fixture.database)).map((leaf) => leaf.split(' ')[1])).toEqual([
    'log_history',
    'log_passed',
    'log',
  ]);
  relay = await startTestRelay(fixture);

  const end = await runCli(['replay', '--topic', 'orders', '--reason', 'a test', '--yes', '--wait'], {
    DATABASE_URL: fixture.url,
  });

  expect(end).toMatchObject({ code: 0, stderr: '' });
  expect(end.stdout).toContain('12 messages match; action: replay to orders.');
  expect(end.stdout).toContain('answers: 12 replayed');
  await until(() => Promise.resolve(fixture.broker.log.length === 24));
  const copies = fixture.broker.log.slice(12);
  const ofKey = (key: string): readonly string[] =>
    copies.filter((copy) => copy.key === key).map(({ payload }) => String(JSON.parse(payload)));
  expect(ofKey('K')).toEqual(['K1', 'K2', 'K3', 'K4', 'K5', 'K6']);
  expect(ofKey('L')).toEqual(['L1', 'L2', 'L3', 'L4', 'L5', 'L6']);
  const originals = labels.map((label) => fixture.idOf(label));
  expect(copies.map(({ headers }) => headers['outbox-replay-of'])).toEqual(originals);
  expect(copies.filter(({ id }) => originals.includes(id))).toEqual([]);
  expect(new Set(copies.map(({ id }) => id)).size).toBe(12);
  const entries = (await auditOf(fixture)).filter(({ action }) => action === 'replay');
  expect(entries.map(({ id, result, details }) => [id, result, details?.copy])).toEqual(
    copies.map(({ id }, n) => [originals[n], 'replayed', id]),
  );
});

test('a dry run counts and shows what a replay would send, and writes nothing', async () => {
  await fillEveryTable();

  const answer = await operator.bulk.start(ofOrders, replay, { ...ada, dryRun: true });

  expect(answer).toMatchObject({ id: null, count: 12, exact: true });
  expect(answer.sample[0]).toMatchObject({ id: fixture.idOf('K1'), state: 'published' });
  expect(await operator.bulk.list()).toEqual([]);
  expect(await auditOf(fixture)).toEqual([]);
  expect(await fixture.database.query('select from outbox.message_all')).toHaveLength(12);
});

test('a replay sends what its filter matches: of a key, from a time, until a time', async () => {
  await fillEveryTable();
  const [boundary] = await fixture.database.query<{ readonly at: Date }>(
    'select created_at as at from outbox.message_all where id = $1',
    [fixture.idOf('L3')],
  );
  const at3 = boundary?.at ?? new Date(Number.NaN);

  expect(await replayed({ ...ofOrders, key: 'K', createdTo: at3 })).toEqual(['K1', 'K2']);
  expect(await replayed({ ...ofOrders, key: 'L', createdFrom: at3 })).toEqual(['L3', 'L4', 'L5', 'L6']);
});

test('a replay of named messages sends these in their order, once each, and leaves out what its filter does not match', {
  tags: ['replay-once-in-order'],
}, async () => {
  await fillEveryTable();
  await fixture.send('waiting', { afterMs: 3_600_000 });
  relay = await startTestRelay(fixture);
  const named = ['L6', 'K1', 'L3', 'K5', 'K1', 'waiting'].map((label) => fixture.idOf(label));
  const task = { ...replay, ids: [...named, randomUUID()] };

  const { id, count } = await operator.bulk.start(ofOrders, task, ada);
  await untilDone(id);
  await until(() => Promise.resolve(fixture.broker.log.length >= 16));

  expect(count).toBe(4);
  expect(fixture.broker.labels.slice(12)).toEqual(['K1', 'L3', 'K5', 'L6']);
  const [first] = fixture.broker.log.slice(12);
  fixture.know('copy', first?.id ?? '');
  // The broker has it a moment before the database knows that.
  await until(async () => (await fixture.row('copy')).state === 'published');
  const again = await operator.bulk.start(
    { ...ofOrders, key: 'K' },
    { ...replay, ids: [first?.id ?? '', fixture.idOf('L1')] },
    { ...ada, dryRun: true },
  );
  expect(again).toMatchObject({ count: 1, sample: [{ id: first?.id }] });
  for (const ids of [[], ['K1'], Array.from({ length: 1_001 }, () => randomUUID())])
    await expect(operator.bulk.start(ofOrders, { ...replay, ids }, ada)).rejects.toMatchObject({
      code: expect.stringMatching(/^OUTBOX_(?:OPTION|ID)_INVALID$/),
    });
});

test('the command replays named messages, and refuses an address and equal ids by name', async () => {
  await deliver('K1', 'L1', 'K2');
  relay = await startTestRelay(fixture);
  const env = { DATABASE_URL: fixture.url };
  const common = ['replay', '--topic', 'orders', '--reason', 'a test', '--yes', '--wait'];

  const refused = await runCli([...common, '--address', 'elsewhere'], env);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Give a topic that address') });
  const same = await runCli([...common, '--same-ids'], env);
  expect(same).toMatchObject({ code: 2, stderr: expect.stringContaining('find one message by its id') });
  expect(fixture.broker.log).toHaveLength(3);

  const end = await runCli([...common, '--id', fixture.idOf('K2'), '--id', fixture.idOf('K1')], env);
  expect(end.stdout).toContain('2 messages match; action: replay to orders.');
  await until(() => Promise.resolve(fixture.broker.log.length === 5));
  expect(fixture.broker.labels.slice(3)).toEqual(['K1', 'K2']);
});

test('copies of an earlier replay are left out while their originals are kept', async () => {
  await deliver('K1', 'L1');

  expect(await replayed(ofOrders)).toEqual(['K1', 'L1']);
  expect(await replayed(ofOrders)).toEqual(['K1', 'L1']);

  await fixture.database.query('delete from outbox.message where id = any($1::uuid[])', [
    ['K1', 'L1'].map((label) => fixture.idOf(label)),
  ]);
  expect(await replayed(ofOrders)).toEqual(['K1', 'L1', 'K1', 'L1']);
});

test('failed and canceled messages are replayed if asked for, and remain what they are', async () => {
  await failAll(fixture, ['F']);
  await fixture.send('C', { afterMs: 3_600_000 });
  await fixture.cancel('C');
  await deliver('K1');

  expect(await replayed(ofOrders)).toEqual(['K1']);
  expect(await replayed({ ...ofOrders, states: ['failed', 'canceled'] })).toEqual(['F', 'C']);
  expect(await fixture.states('F', 'C')).toEqual(['failed', 'canceled']);
});

test('what the topic refuses is counted, and the others are sent', async () => {
  await deliver('K1', 'K-longer-than-the-limit', 'K2');
  await fixture.database.query(`update outbox.topic set payload_limit_bytes = 10 where name = 'orders'`);
  relay = await startTestRelay(fixture);

  const { id } = await operator.bulk.start(ofOrders, replay, ada);
  await untilDone(id);

  expect(await operator.bulk.show(id ?? '')).toMatchObject({ counts: { replayed: 2, refused: 1 } });
  await until(() => Promise.resolve(fixture.broker.log.length === 5));
  expect(fixture.broker.labels.slice(3)).toEqual(['K1', 'K2']);
  const refused = (await auditOf(fixture)).filter(({ result }) => result === 'refused');
  expect(refused).toMatchObject([{ details: { code: 'OUTBOX_PAYLOAD_TOO_LARGE' } }]);
});

/** Runs the pages of a replay as a relay does, also after one that fails. */
async function runPages(id: string): Promise<void> {
  const runner = createRelayBulkRunner(fixture.database, () => undefined);
  for (;;) {
    const page = await runner.runPage(id, () => undefined).catch(() => undefined);
    if (page !== undefined && page.kind !== 'more') return;
  }
}

const storedCopies = (): Promise<readonly unknown[]> =>
  fixture.database.query(`select id from outbox.message_all where headers ? 'outbox-replay-of'`);

test.each(['bulk:page-open', 'bulk:page-committed'] as const)(
  'a replay whose relay dies at %s sends each message once',
  { tags: ['replay-once-in-order'] },
  async (point) => {
    await deliver('K1', 'L1', 'K2', 'L2');
    const { id } = await operator.bulk.start(ofOrders, replay, ada);
    let deaths = 0;
    const disarm = setTrap(point, () => {
      deaths += 1;
      disarm();
      throw new Error('The relay died.');
    });
    await runPages(id ?? '');
    await fixture.drain();

    expect(deaths).toBe(1);
    expect(fixture.broker.labels.slice(4)).toEqual(['K1', 'L1', 'K2', 'L2']);
    expect(await operator.bulk.show(id ?? '')).toMatchObject({ state: 'done', counts: { replayed: 4 } });
  },
);

test('a replay that is paused sends nothing until it is resumed, and one that is aborted nothing more', async () => {
  await deliver('K1', 'K2');
  const { id } = await operator.bulk.start(ofOrders, replay, ada);
  const known = id ?? '';
  await operator.bulk.pause(known, ada);
  await runPages(known);
  expect(await storedCopies()).toEqual([]);
  await operator.bulk.resume(known, ada);
  await runPages(known);
  expect(await storedCopies()).toHaveLength(2);

  const { id: other } = await operator.bulk.start(ofOrders, replay, ada);
  await operator.bulk.abort(other ?? '', ada);
  await runPages(other ?? '');
  expect(await storedCopies()).toHaveLength(2);
});

test('a replay names one topic, and sends to none that no relay has announced', async () => {
  await expect(operator.bulk.start({ key: 'K' }, replay, ada)).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    details: { option: 'topic' },
  });
  await expect(operator.bulk.start(ofOrders, { ...replay, to: 'nowhere' }, ada)).rejects.toMatchObject({
    code: 'OUTBOX_TOPIC_UNKNOWN',
  });
  await expect(operator.bulk.start({ ...ofOrders, states: ['ready'] }, replay, ada)).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    details: { option: 'states' },
  });
  expect(await operator.bulk.list()).toEqual([]);
});
