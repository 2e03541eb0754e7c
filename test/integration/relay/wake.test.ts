import pg from 'pg';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { clientOf, send, topic, type Waker, wake } from '../../../src/index.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { startTestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = topic('orders', z.object({ n: z.number() }));

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

test('with wake a message whose sender opened the transaction is sent at once, without it at the next look', {
  tags: ['own-transactions-lose-no-time'],
}, async (context) => {
  const prisma = openPrisma(fixture.url);
  context.onTestFinished(() => prisma.$disconnect());
  const timings = { lookIntervalMs: 1_000, idleLookIntervalMs: 1_000, laneIdleTimeoutMs: 60_000 };
  const relay = await startTestRelay(fixture, { timings });
  context.onTestFinished(() => relay.stop());
  /** How many milliseconds after its commit a message has arrived. */
  const lateness = async (n: number, after: () => void): Promise<number> => {
    await prisma.$transaction((tx) => send(tx, orders, { n }));
    const committedAt = Date.now();
    after();
    await until(() => fixture.broker.log.length === n);
    return (fixture.broker.log.at(-1)?.storedAt ?? Number.NaN) - committedAt;
  };
  // A nudge has the relay look, and the next look of its own is a second later: what comes now waits for that.
  const woken: number[] = [];
  const left: number[] = [];
  for (const n of [1, 2]) await lateness(n, () => wake(prisma));
  for (let n = 3; n <= 7; n += 2) {
    left.push(await lateness(n, () => undefined));
    woken.push(await lateness(n + 1, () => wake(prisma)));
  }
  const middle = (some: readonly number[]): number => some.toSorted((a, b) => a - b)[1] ?? Number.NaN;
  // In proportion, because a busy machine is late with both.
  expect(middle(woken)).toBeLessThan(middle(left) / 2);
});

test('wake refuses a client within a transaction, and accepts extended clients and pools', {
  tags: ['arguments-refused-at-the-border'],
}, async (context) => {
  const prisma = openPrisma(fixture.url);
  context.onTestFinished(() => prisma.$disconnect());
  const heard: string[] = [];
  const listener = await fixture.database.openSession('outbox', (payload) => void heard.push(payload));
  context.onTestFinished(() => listener.stop());

  const refused = expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID' });
  await prisma.$transaction(async (tx) => {
    expect(() => wake(tx as unknown as Waker)).toThrow(refused);
  });
  const pool = new pg.Pool({ connectionString: fixture.url });
  context.onTestFinished(() => pool.end());
  await clientOf(pool).$transaction(async (tx) => {
    expect(() => wake(tx as unknown as Waker)).toThrow(refused);
    expect(() => wake(tx.connection as unknown as Waker)).toThrow(refused);
  });
  const extended = prisma.$extends({ client: { $hello: () => 1 } });
  for (const through of [prisma, extended, fixture.database, pool, clientOf(pool)]) {
    const before = heard.length;
    wake(through);
    await until(() => heard.length > before);
  }
});
