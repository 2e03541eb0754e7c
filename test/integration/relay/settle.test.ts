import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { changeMessages } from '../../../src/operations/change.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { settle } from '../../../src/store/lane/settle.ts';
import { retryChange } from '../../../src/store/message/change.ts';
import { resend } from '../../../src/store/message/confirm-overdue.ts';
import { releaseMessages } from '../../../src/store/message/release.ts';
import { cancelKey } from '../../../src/store/message/write.ts';
import { afterCommits } from '../../support/faults/after-commits.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

/** A database that commits the first settle with an exception and loses its answer; this happens before it is repeated. */
function losingOneSettle(meanwhile: () => Promise<void>): Database {
  let lost = false;
  return afterCommits(fixture.database, async (texts) => {
    if (lost || !texts.some((text) => text.includes('changed as ('))) return;
    lost = true;
    await meanwhile();
    throw new Error('The connection ended before the answer to the commit.');
  });
}

const triesOf = (label: string) =>
  fixture.database.query('select outcome from outbox.attempt where message_id = $1 order by id', [
    fixture.idOf(label),
  ]);

/** Its first try fails so; what it sends later is stored. */
function failOnce(kind: 'reject' | 'permanent'): void {
  let failed = false;
  fixture.broker.judge = () => {
    if (failed) return 'store';
    failed = true;
    return kind;
  };
}

test.each([
  ['of the log', {}],
  ['beside the log', { expiresAfterMs: 3_600_000 }],
])(
  'a repeated settle counts no second try of a message %s that is due again',
  { tags: ['retry-delays-apply-everywhere'] },
  async (_where, options) => {
    fixture = await fixture.renewed({ retry: ['1h', '1h'] });
    await fixture.send('A', options);
    failOnce('reject');
    await fixture.drain({ database: losingOneSettle(async () => void (await fixture.release('A'))) });

    expect(await fixture.row('A')).toMatchObject({ state: 'published', attempts: 1 });
    expect(fixture.broker.labels).toEqual(['A']);
    expect(await triesOf('A')).toEqual([{ outcome: 'rejected' }, { outcome: 'acknowledged' }]);
  },
);

test('a repeated settle does not take back the retry of a failed message by an operator', {
  tags: ['retry-delays-apply-everywhere'],
}, async () => {
  await fixture.send('A');
  failOnce('permanent');
  const retry = async () => {
    const ids = [fixture.idOf('A')];
    await changeMessages(fixture.database, { ids }, retryChange, { actor: 'test', reason: 'as told' });
  };
  await fixture.drain({ database: losingOneSettle(retry) });

  expect(await fixture.row('A')).toMatchObject({ state: 'published', attempts: 0 });
  expect(await triesOf('A')).toEqual([{ outcome: 'permanent' }]);
});

test('a repeated settle does not count as the resend that a missing receipt asked for', async () => {
  fixture = await fixture.renewed({ confirm: { group: 'g', receiptTimeout: '1h' } });
  await fixture.send('A');
  await fixture.drain({
    database: losingOneSettle(async () => void (await resend(fixture.database, [fixture.idOf('A')], []))),
  });

  expect(fixture.broker.labels).toEqual(['A', 'A']);
  expect(await fixture.database.query('select state::text, sends from outbox.message')).toEqual([
    { state: 'published', sends: 2 },
  ]);
});

/** A database that executes the first settle once more after the second one, as if the network had kept a copy of it. */
function repeatingLate(): Database {
  const settles: (readonly unknown[] | undefined)[] = [];
  return {
    ...fixture.database,
    async query(text, values) {
      const rows = await fixture.database.query(text, values);
      if (text.includes('outbox.pass(') && settles.push(values) === 2)
        await fixture.database.query(text, settles[0]);
      return rows as never;
    },
  };
}

test.each([true, false])(
  'a copy of a settle that arrives after the next one takes nothing back; what is passed was committed late: %s',
  { tags: ['cancel-holds'] },
  async (late) => {
    const open = await fixture.begin();
    if (late) await fixture.send('B', {}, open);
    await fixture.send('A');
    let begun = false;
    fixture.broker.before = async () => {
      if (begun) return;
      begun = true;
      if (!late) await fixture.send('B');
      await open.commit();
    };
    await fixture.drain({ database: repeatingLate() });

    expect(fixture.broker.labels).toEqual(['A', 'B']);
    expect(await fixture.states('A', 'B')).toEqual(['published', 'published']);
  },
);

test.each([
  [true, 'on'],
  [false, 'off'],
])('a settle whose durability is %s commits with synchronous_commit %s', async (durable, setting) => {
  const owner = randomUUID();
  await acquireLane(fixture.database, fixture.lane, owner);

  const found = await fixture.database.transaction(async (sql) => {
    await sql.query('set local synchronous_commit = on');
    const joined: Database = { ...fixture.database, query: (text, values) => sql.query(text, values) };
    const settled = await settle(joined, fixture.lane, {
      owner,
      cursor: '0',
      snapshot: null,
      changes: [],
      claimSnapshot: '1:1:',
      durable,
    });
    expect(settled).toBe(true);
    const [row] = await sql.query<{ setting: string }>(
      `select current_setting('synchronous_commit') as setting`,
    );
    return row?.setting;
  });

  expect(found).toBe(setting);
});

// A cancel keeps the lock of a message that became ready while it waited for it. If a settle locked its messages in another order, each
// could wait for the other.
test('a cancel of a key and a settle of its failures lock the messages in one order, and do not deadlock', {
  tags: ['cancel-holds'],
}, async () => {
  fixture = await fixture.renewed({ timer: 'lane', retry: ['1h'] });
  const key = 'k';
  const [first = '', second = '', third = ''] = [randomUUID(), randomUUID(), randomUUID()].toSorted();
  await fixture.send('third', { id: third, key, afterMs: 10 });
  await fixture.send('first', { id: first, key, afterMs: 20 });
  await fixture.send('second', { id: second, key, afterMs: 3_600_000 });
  await until(async () => {
    const due = await fixture.database.query('select from outbox.message where due_at <= outbox.clock()');
    return due.length === 2;
  });

  const release = await fixture.begin();
  await releaseMessages(release, [first, third]);
  const service = await fixture.begin();
  // Who looks first is ended.
  await service.query(`set local deadlock_timeout = '10ms'`);
  const cancel = async (): Promise<number> => {
    const canceled = await cancelKey(service, fixture.topic, key);
    await service.commit();
    return canceled;
  };
  const canceled = cancel();
  await untilLockWaits(fixture.database, 1);
  const business = await fixture.begin();
  await business.query('select from outbox.message where id = $1 for update', [second]);
  await release.commit();
  fixture.broker.judge = () => 'reject';
  const drained = fixture.drain();
  await untilLockWaits(fixture.database, 2);
  await business.rollback();

  expect(await Promise.all([canceled, drained])).toEqual([1, 'quiet']);
  expect(await fixture.states('third', 'first', 'second')).toEqual(['retrying', 'blocked', 'canceled']);
});
