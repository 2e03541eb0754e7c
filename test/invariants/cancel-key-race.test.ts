import { expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database/pool.ts';
import { cancelKey, storeMessages } from '../../src/store/message/write.ts';
import { Aim } from '../support/fixtures/aim.ts';
import { laneFixture } from '../support/fixtures/lane-fixture.ts';
import { startTestRelay } from '../support/fixtures/test-relay.ts';
import { until } from '../support/fixtures/until.ts';

const keys = 40;
const perKey = 12;
/** A race is one when each side has won so often. */
const least = 30;

test('I5 of messages canceled by key while they become due and retry, each is either canceled and counted or published', {
  tags: ['cancel-holds'],
}, async () => {
  const fixture = await laneFixture({ timer: 'lane', retry: ['40ms', '40ms', '40ms', '40ms'] });
  const business = openDatabase({ url: fixture.url, connections: 8 });
  const tries = new Map<string, number>();
  fixture.broker.judge = ({ id }) => {
    const count = tries.get(id) ?? 0;
    tries.set(id, count + 1);
    return count === 0 ? 'reject' : 'store';
  };
  const relay = await startTestRelay(fixture);
  try {
    const decided = async (): Promise<{ canceled: number; published: number; open: number }> => {
      const [row] = await business.query<{ canceled: number; published: number; open: number }>(
        `select count(*) filter (where state = 'canceled')::int as canceled, count(*) filter (where state = 'published')::int as published,
           count(*) filter (where state not in ('canceled', 'published'))::int as open from outbox.message_view`,
      );
      return row ?? { canceled: 0, published: 0, open: 0 };
    };
    let counted = 0;
    let at = await decided();
    for (let round = 0; round < 5 && (at.canceled < least || at.published < least); round += 1) {
      await storeMessages(
        business,
        fixture.topic,
        Array.from({ length: keys * perKey }, (_, n) => ({
          payload: JSON.stringify(`${round}-${n}`),
          key: `k${n % keys}`,
          afterMs: 300 + Math.floor(n / keys) * 40,
        })),
      );
      // Two for each key, spread over the time in which its messages become due.
      const startedAt = Date.now();
      const shots = Array.from({ length: keys * 2 }, (_, n) => ({
        n,
        atMs: startedAt + 300 + ((n * 37) % 500),
      }));
      await new Aim(1).shootAll(shots, 8, async ({ n }) => {
        const count = await cancelKey(business, fixture.topic, `k${n % keys}`);
        counted += count;
        return count > 0 ? 'too-early' : 'too-late';
      });
      await until(async () => {
        at = await decided();
        return at.open === 0;
      });
    }

    expect(at.canceled).toBeGreaterThanOrEqual(least);
    expect(at.published).toBeGreaterThanOrEqual(least);
    expect(counted).toBe(at.canceled);
    const published = await business.query<{ id: string }>(
      `select id from outbox.message_view where state = 'published'`,
    );
    expect(fixture.broker.log.map(({ id }) => id).toSorted()).toEqual(
      published.map(({ id }) => id).toSorted(),
    );
  } finally {
    await relay.stop();
    await business.close();
    await fixture.drop();
  }
});
