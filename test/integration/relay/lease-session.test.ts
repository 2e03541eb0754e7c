import { randomUUID } from 'node:crypto';
import { afterEach, expect, test, vi } from 'vitest';
import { LaneLease } from '../../../src/relay/lane-lease.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));
afterEach(async () => {
  vi.useRealTimers();
});

/** A session that lives until its transaction ends. */
async function session(key: string) {
  const transaction = await fixture.begin();
  await transaction.query(`select pg_advisory_xact_lock(${key})`);
  return { key, live: { key }, end: () => transaction.rollback() };
}

async function tiedTo(): Promise<string | null | undefined> {
  const [row] = await fixture.database.query<{ session: string | null }>(
    'select session::text from outbox.lane',
  );
  return row?.session;
}

/** The lane has not been renewed for so long that a session which has ended frees it. */
const graceOver = () =>
  fixture.database.query(`update outbox.lane set alive_until = alive_until - interval '600 ms'`);

test('a lane whose session was replaced is tied to the new one at the next look, and no other owner gets it', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const old = await session('4711');
  const next = await session('4712');
  let current = old.live;
  const { database, lane } = fixture;
  const lease = new LaneLease({ database, lane, session: () => current });
  await lease.acquire();
  expect(await tiedTo()).toBe(old.key);

  const tied = await lease.during(async () => {
    await old.end();
    current = next.live;
    vi.advanceTimersByTime(200);
    return until(async () => (await tiedTo()) === next.key, 8_000).catch((error: unknown) => error);
  });

  expect(tied).toBeUndefined();
  await graceOver();
  expect(await acquireLane(fixture.database, fixture.lane, randomUUID())).toBeUndefined();
  await next.end();
  expect(await acquireLane(fixture.database, fixture.lane, randomUUID())).toMatchObject({ lapsed: true });
});

test.each(['4713', '-4713', '9007199254740993'])(
  'a lane also counts as owned when the query shares its connection with the session, as behind a pooler: %s',
  { tags: ['pooler-costs-speed-only'] },
  async (key) => {
    const { database, lane } = fixture;
    const shared = await fixture.begin();
    await shared.query(`select pg_advisory_xact_lock(${key})`);
    const lease = new LaneLease({ database, lane, session: () => ({ key }) });
    await lease.acquire();
    expect(await tiedTo()).toBe(key);
    await graceOver();
    const taken = 'select outbox.lane_taken(l) as taken from outbox.lane l';

    expect(await shared.query(taken)).toEqual([{ taken: true }]);
    expect(await database.query(taken)).toEqual([{ taken: true }]);

    await shared.rollback();
    expect(await database.query(taken)).toEqual([{ taken: false }]);
  },
);
