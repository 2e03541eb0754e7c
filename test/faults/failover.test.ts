import { randomBytes, randomUUID } from 'node:crypto';
import { expect, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { policyOf } from '../../src/app/relay/topic-policy.ts';
import { topic } from '../../src/core/topic.ts';
import { defaultTimings } from '../../src/relay/timings.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { claim } from '../../src/store/lane/claim.ts';
import { acquireLane } from '../../src/store/lane/lease.ts';
import { upsertTopics } from '../../src/store/lane/topics.ts';
import { storeMessages } from '../../src/store/message/write.ts';
import { proxiedDatabase } from '../support/faults/proxied-database.ts';
import { LaneFixture } from '../support/fixtures/lane-fixture.ts';
import { type OwnPostgres, ownPostgres } from '../support/fixtures/own-postgres.ts';
import { startStandby } from '../support/fixtures/standby-postgres.ts';
import { until } from '../support/fixtures/until.ts';

const orders = topic('orders', z.unknown());

/** Sends messages one transaction each, as services do; answers their ids. */
async function sendTo(url: string, count: number): Promise<readonly string[]> {
  const database = openDatabase({ url, connections: 1 });
  try {
    const ids: string[] = [];
    while (ids.length < count) {
      const payload = JSON.stringify(randomBytes(4).toString('hex'));
      const [stored] = await storeMessages(database, 'orders', [{ payload }]);
      if (stored === undefined || stored.refusal !== null) throw new Error('A message was not stored.');
      ids.push(stored.id);
    }
    return ids;
  } finally {
    await database.close();
  }
}

/** A lane on a server of its own, drained again and again by one process, with its session, as its workflow does. */
async function openLane(context: TestContext, server: OwnPostgres) {
  const { proxy, url } = await proxiedDatabase(context, server.url, 1);
  const database = openDatabase({ url });
  const fixture = new LaneFixture({ url, database, drop: () => database.close() }, orders.rules);
  await upsertTopics(database, [policyOf(orders, 'scripted')]);
  const session = await database.openSession('outbox', () => undefined);
  const stop = new AbortController();
  const timings = { ...defaultTimings, probeIntervalMs: 20, checkIntervalMs: 20 };
  const draining = (async () => {
    while (!stop.signal.aborted)
      await fixture
        .drain({ timings, batch: { messages: 100 }, session: () => session.current(), signal: stop.signal })
        .catch(() => undefined);
  })();
  context.onTestFinished(async () => {
    stop.abort();
    await draining;
    await session.stop();
    await database.close();
  });
  const published = (ids: readonly string[]): number => {
    const known = new Set(fixture.broker.log.map(({ id }) => id));
    return ids.filter((id) => known.has(id)).length;
  };
  /** Every one of them is in the log, and none says that it is published without being there. */
  const expectPublished = async (ids: readonly string[]): Promise<void> => {
    await until(
      async () =>
        (await fixture.database.query(readyOrBlocked)).length === 0 && published(ids) === ids.length,
      60_000,
    ).catch(() => undefined);
    expect(published(ids), 'messages of the new primary that were sent').toBe(ids.length);
  };
  return { fixture, proxy, published, expectPublished };
}

const readyOrBlocked = `select from outbox.message_view where state::text in ('ready', 'blocked')`;

test.for(['idle', 'before a batch is sent', 'before a batch is settled'] as const)(
  'I1 nothing that a new primary commits is lost when it lacked the last commits of the old one (%s)',
  { tags: ['failover-costs-repeats-only'], timeout: 240_000 },
  async (moment, context) => {
    const server = await ownPostgres(context);
    const { fixture, proxy, published, expectPublished } = await openLane(context, server);
    const before = await sendTo(server.url, 50);
    await until(() => published(before) === before.length);
    const standby = await startStandby(context, server.url);
    await standby.caughtUp();
    await standby.cut();

    let fresh: readonly string[] = [];
    let failed = false;
    const failOver = async (): Promise<void> => {
      if (failed) return;
      failed = true;
      await standby.promote();
      proxy.redirect(standby.address);
      // More than the standby lacked, so that positions and transaction ids are given out again.
      fresh = await sendTo(standby.url, 700);
    };
    const batches = fixture.broker.batches.length;
    const late = (): boolean => fixture.broker.batches.length > batches + 2;
    if (moment === 'before a batch is sent') fixture.broker.before = () => (late() ? failOver() : undefined);
    if (moment === 'before a batch is settled')
      fixture.broker.after = () => (late() ? failOver() : undefined);
    const lacked = await sendTo(server.url, 320);
    if (moment === 'idle') {
      await until(() => published(lacked) === lacked.length);
      await failOver();
    }
    await until(() => fresh.length > 0);

    await expectPublished(fresh);
  },
);

test.for(['the server', 'one backend'] as const)(
  'I1 nothing that commits after a crash without its last commits is lost (%s)',
  { tags: ['failover-costs-repeats-only'], timeout: 240_000 },
  async (victim, context) => {
    const server = await ownPostgres(context);
    const admin = openDatabase({ url: server.url, connections: 1 });
    // Commits are answered before they are on disk, and get there late.
    await admin.query('alter system set synchronous_commit = off');
    await admin.query(`alter system set wal_writer_delay = '10s'`);
    await admin.query('select pg_reload_conf()');
    const { fixture, published, expectPublished } = await openLane(context, server);
    const before = await sendTo(server.url, 50);
    await until(() => published(before) === before.length);
    await admin.query('checkpoint');
    const forgotten = await sendTo(server.url, 320);
    await until(() => published(forgotten) === forgotten.length);
    const [row] = await admin.query<{ pid: number }>('select pg_backend_pid() as pid');
    if (victim === 'the server') {
      await server.kill();
      await server.start();
    } else {
      // The postmaster lives on, ends all others and begins anew with what is on disk.
      process.kill(row?.pid ?? 0, 'SIGKILL');
      await until(() =>
        admin.query('select 1').then(
          () => false,
          () => true,
        ),
      );
    }
    await until(async () => (await admin.query('select 1')).length === 1);
    await admin.close();

    const fresh = await sendTo(server.url, 700);

    const kept = await fixture.database.query<{ id: string }>('select id from outbox.message');
    const ids = new Set(kept.map(({ id }) => id));
    expect(
      forgotten.filter((id) => !ids.has(id)).length,
      'the fault: commits were forgotten',
    ).toBeGreaterThan(0);
    await expectPublished(fresh);
  },
);

test('I1 a claim that reaches a standby is refused', { timeout: 60_000 }, async (context) => {
  const server = await ownPostgres(context);
  const primary = openDatabase({ url: server.url, connections: 1 });
  const owner = randomUUID();
  await upsertTopics(primary, [policyOf(orders, 'scripted')]);
  const acquired = await acquireLane(primary, { topic: 'orders', lane: 0 }, owner);
  const standby = await startStandby(context, server.url);
  await standby.caughtUp();
  const reader = openDatabase({ url: standby.url, connections: 1 });
  context.onTestFinished(async () => {
    await primary.close();
    await reader.close();
  });
  const claimed = claim(
    reader,
    { topic: 'orders', lane: 0 },
    { cursor: '0', snapshot: null, owner, limit: 1, bytes: 1_000, failedBlocks: false, suspect: null },
  );

  expect(acquired).toBeDefined();
  // A snapshot of a standby names no running transactions: what they commit later would count as passed.
  await expect(claimed).rejects.toMatchObject({ code: '25006' });
});
