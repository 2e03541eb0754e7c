import { expect, test } from 'vitest';
import { servedOperations } from '../../../src/app/operations/served-operations.ts';
import { withinOne } from '../../../src/store/database/within-one.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, auditOf } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';

let lane: LaneFixture;
eachLane((made) => {
  lane = made;
});

const change = { readOnly: false, statementMs: 5_000 };
const insert = (key: string) =>
  `insert into outbox.request (actor, key, digest) values ('ada', '${key}', '') returning key`;
const keys = async (): Promise<readonly string[]> =>
  (await lane.database.query<{ key: string }>('select key from outbox.request order by key')).map(
    ({ key }) => key,
  );

test('a read cannot write: the server refuses it', async () => {
  const served = servedOperations({ database: { url: lane.url } });
  await lane.send('A', { afterMs: 3_600_000 });
  const ids = [lane.idOf('A')];
  await expect(served.run('read', (at) => at.cancel({ ids }, ada))).rejects.toThrow(/read-only transaction/);
  expect(await lane.states('A')).toEqual(['waiting']);
  await served.close();
});

test('what fails or is rehearsed is undone alone, and the rest is committed together', {
  tags: ['repeated-request-acts-once'],
}, async () => {
  const served = servedOperations({ database: { url: lane.url } });
  await lane.send('A', { afterMs: 3_600_000 });
  await lane.send('B', { afterMs: 3_600_000 });
  const [a, b] = [{ ids: [lane.idOf('A')] }, { ids: [lane.idOf('B')] }];
  await served.run('change', async (at) => {
    expect(await at.cancel(a, { ...ada, dryRun: true })).toMatchObject([{ result: 'canceled' }]);
    await at.cancel(b, ada);
    await expect(at.schedules.run('none', ada)).rejects.toMatchObject({ code: 'OUTBOX_SCHEDULE_UNKNOWN' });
  });
  expect(await lane.states('A', 'B')).toEqual(['waiting', 'canceled']);
  expect(await auditOf(lane)).toHaveLength(1);

  const broken = served.run('change', async (at) => {
    await at.cancel(a, ada);
    throw new Error('the process had to stop');
  });
  await expect(broken).rejects.toThrow('had to stop');
  expect(await lane.states('A')).toEqual(['waiting']);
  await served.close();
});

test('while a change waits for a message in other hands, it locks none of its others', {
  tags: ['repeated-request-acts-once'],
}, async () => {
  const served = servedOperations({ database: { url: lane.url } });
  const ids = [await lane.send('A', { afterMs: 3_600_000 }), await lane.send('B', { afterMs: 3_600_000 })];
  const lock = 'select from only outbox.message where id = $1 for update';
  const [holder, other] = [await lane.begin(), await lane.begin()];
  await holder.query(lock, [ids[1]]);
  const changed = served.run('change', (at) => at.cancel({ ids }, ada));

  const waiting = `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
    and query like '%savepoint part'`;
  await until(async () => (await lane.database.query(waiting)).length > 0);
  await other.query(`set local lock_timeout = '1s'`);
  await other.query(lock, [ids[0]]);
  await other.rollback();
  await holder.rollback();

  expect((await changed).map(({ id }) => id)).toEqual(ids);
  await served.close();
});

test('statements between the parts of a transaction are not undone with a part', async () => {
  await withinOne(lane.database, change, async (at) => {
    const part = at.transaction(async (sql) => {
      await sql.query(insert('undone'));
      await sql.query('select pg_sleep(0.05)');
      throw new Error('undo');
    });
    const beside = at.query(insert('kept'));
    await Promise.allSettled([part, beside]);
  });
  expect(await keys()).toEqual(['kept']);
});

test('a failure that the work ignores commits nothing and is not taken for success', async () => {
  const ignored = withinOne(lane.database, change, async (at) => {
    await at.query(insert('lost'));
    await at.query('select 1 / 0').catch(() => undefined);
    return 'done';
  });
  await expect(ignored).rejects.toMatchObject({ code: '25P02' });
  expect(await keys()).toEqual([]);
});
