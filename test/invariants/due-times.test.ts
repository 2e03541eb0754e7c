import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { storeMessages } from '../../src/store/message/write.ts';
import { eachLane, type LaneFixture } from '../support/fixtures/lane-fixture.ts';
import { startTestRelay, type TestRelay } from '../support/fixtures/test-relay.ts';
import { until } from '../support/fixtures/until.ts';

const messages = 300;
/** Enough to store all of them before the first is due. */
const firstMs = 1_000;
const stepMs = 5;

let fixture: LaneFixture;
let relay: TestRelay;
eachLane((made) => (fixture = made), { timer: 'lane' });
beforeEach(async () => {
  relay = await startTestRelay(fixture);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await relay.stop();
});

/** Sends messages that become due one by one, waits until the broker has all of them, and answers how late each was. */
async function deliverDelayed(): Promise<readonly number[]> {
  const before = fixture.broker.log.length;
  const stored = await storeMessages(
    fixture.database,
    fixture.topic,
    Array.from({ length: messages }, (_, n) => ({
      payload: JSON.stringify(n),
      afterMs: firstMs + n * stepMs,
    })),
  );
  await until(() => fixture.broker.log.length >= before + messages);
  // The servers run on this machine, so that both clocks are one.
  const dueAt = new Map(stored.map(({ id, dueAt: due }) => [id, due?.getTime() ?? Number.NaN]));
  return fixture.broker.log.slice(before).map(({ id, storedAt }) => storedAt - (dueAt.get(id) ?? Number.NaN));
}

test.for([
  ['ahead', 3_600_000],
  ['behind', -3_600_000],
] as const)(
  'I6 F23 a relay whose clock is an hour %s sends no message early and none late',
  async ([, skewMs]) => {
    const Right = Date;
    class Skewed extends Right {
      static override now(): number {
        return Right.now() + skewMs;
      }
      constructor(...given: [] | [value: string | number | Date]) {
        super(...((given.length === 0 ? [Skewed.now()] : given) as [number]));
      }
    }
    vi.stubGlobal('Date', Skewed);

    // The broker of the fixture is in this process, and has its clock.
    const latenesses = (await deliverDelayed()).map((ms) => ms - skewMs);

    expect(latenesses).toHaveLength(messages);
    expect(Math.min(...latenesses)).toBeGreaterThanOrEqual(0);
    // Trusting the clock of the relay would be an hour late; the rest is what a busy machine takes.
    expect(Math.max(...latenesses)).toBeLessThan(30_000);
  },
);

test('I6 I7 where lanes wait, no message is published before its due time by the clock of the database, half of them are less than 100 ms late, and none by a second', {
  tags: ['never-early', 'on-time'],
}, async () => {
  // What else a machine does makes single tries later, but a relay that looks too seldom is late in all of them.
  const tries: { readonly half: number; readonly last: number }[] = [];
  const kept = (): boolean => tries.some(({ half, last }) => half < 100 && last < 1_000);
  while (tries.length < 10 && !kept()) {
    const latenesses = (await deliverDelayed()).toSorted((a, b) => a - b);
    expect(latenesses).toHaveLength(messages);
    expect(latenesses[0]).toBeGreaterThanOrEqual(0);
    tries.push({
      half: latenesses[messages / 2] ?? Number.NaN,
      last: latenesses.at(-1) ?? Number.NaN,
    });
  }

  expect(kept(), JSON.stringify(tries)).toBe(true);
});

test('I8 the last committed due time wins, earlier or later', { tags: ['last-due-time-wins'] }, async () => {
  // Its first due time passes while the test runs, and surely not before it is moved.
  await fixture.send('later', { afterMs: 4_000, ref: 'later' });
  await fixture.send('earlier', { afterMs: 3_600_000, ref: 'earlier' });
  await fixture.database.query(`select outbox.reschedule('orders', ref => 'later', after => interval '5 s')`);
  await fixture.database.query(
    `select outbox.reschedule('orders', ref => 'earlier', after => interval '100 ms')`,
  );

  await until(() => fixture.broker.log.length === 2);

  expect(fixture.broker.labels).toEqual(['earlier', 'later']);
  const [due] = await fixture.database.query<{ at: Date }>(
    `select due_at as at from outbox.message where ref = 'later'`,
  );
  expect(fixture.broker.log[1]?.storedAt).toBeGreaterThanOrEqual(due?.at.getTime() ?? Number.NaN);
});
