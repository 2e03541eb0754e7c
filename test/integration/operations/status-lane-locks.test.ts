import { beforeEach, expect, test } from 'vitest';
import { readLaneLocks } from '../../../src/operations/delivery/lane-locks.ts';
import { type Status, statusOf } from '../../../src/operations/delivery/status.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { type OpenTransaction, openTransaction } from '../../support/fixtures/open-transaction.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
eachLane((made) => {
  fixture = made;
});
beforeEach(async () => {
  await fixture.database.query(`insert into outbox.lane (topic, n) values ('orders', 1)`);
});

/** A transaction as of somebody at a prompt. */
async function stranger(): Promise<OpenTransaction & { readonly pid: number }> {
  const transaction = await openTransaction(`${fixture.url}?application_name=psql`);
  const [row] = await transaction.query<{ pid: number }>('select pg_backend_pid() as pid');
  return { ...transaction, pid: row?.pid ?? 0 };
}

test('status names the process that has locked a lane for some seconds, without waiting for it', {
  tags: ['stopped-elsewhere-is-shown'],
}, async () => {
  await fixture.send('due');
  const other = await stranger();
  await other.query(`update outbox.lane set cursor = cursor where n = 0`);
  const status = (...options: string[]) => runCli(['status', '--database', fixture.url, ...options]);

  // Relays lock lanes, too, for milliseconds.
  expect(await readLaneLocks(fixture.database, 60_000)).toEqual([]);
  await until(async () => (await statusOf(fixture.database)).laneLocks.length > 0);
  const [text, json] = await Promise.all([status(), status('--json')]);

  expect((JSON.parse(json.stdout) as Status).laneLocks).toEqual([
    {
      pid: other.pid,
      application: 'psql',
      state: 'idle in transaction',
      since: expect.stringMatching(/^20\d\d-\d\d-\d\dT/),
      openMs: expect.any(Number),
      all: false,
      lanes: [{ topic: 'orders', lane: 0 }],
    },
  ]);
  expect(text.stdout).toMatch(
    new RegExp(`\\norders +0 .* locked by pid ${other.pid}\\norders +1 .* quiet\\n`),
  );
  expect(text.stdout).toMatch(
    new RegExp(
      `\\nLOCKED BY +APPLICATION +STATE +SINCE +LANES\\npid ${other.pid} +psql +idle in transaction +\\d+\\.\\d s +orders/0\\nLanes wait for such a transaction\\. End it:\nselect .*pg_signal_backend\\.\n`,
    ),
  );
  const lines = text.stdout.split('\n').slice(3);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);

  await other.rollback();
  expect((await statusOf(fixture.database)).laneLocks).toEqual([]);
});

test('a business transaction locks no lane, whatever it does with its messages', async () => {
  await fixture.send('waits', { afterMs: 60_000, ref: 'ref' });
  const business = await fixture.begin();
  await fixture.send('due', {}, business);
  await fixture.send('later', { afterMs: 60_000 }, business);
  expect(await fixture.cancel('waits', business)).toBe('canceled');

  expect(await readLaneLocks(fixture.database, 0)).toEqual([]);
  await business.rollback();
});

test('a transaction whose lanes the server does not reveal is named without them', async () => {
  const other = await stranger();
  await other.query(`select from outbox.lane where n = 1 for key share`);
  await other.query(`savepoint s`);
  await other.query(`update outbox.lane set cursor = cursor where n = 1`);

  expect(await readLaneLocks(fixture.database, 0)).toMatchObject([{ pid: other.pid, all: false, lanes: [] }]);
  await other.rollback();
});

test('a lock of the whole table counts for every lane, and one that excludes readers is reported at once', {
  tags: ['stopped-elsewhere-is-shown'],
}, async () => {
  const writer = await stranger();
  await writer.query(`lock table outbox.lane in exclusive mode`);
  expect(await readLaneLocks(fixture.database, 0)).toMatchObject([{ pid: writer.pid, all: true, lanes: [] }]);
  await writer.rollback();

  const owner = await stranger();
  await owner.query(`lock table outbox.lane`);
  await expect(readLaneLocks(fixture.database, 0)).rejects.toMatchObject({
    code: 'OUTBOX_LANE_LOCKED',
    details: { pid: owner.pid, application: 'psql', state: 'idle in transaction' },
  });
  await owner.rollback();
});
