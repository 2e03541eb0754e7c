import { beforeEach, describe, expect, test } from 'vitest';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { look } from '../../../src/store/lane/watch.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { kindsOfMessages, turnLeaf } from '../../support/fixtures/leaves.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

describe.each(kindsOfMessages)('messages $kind', ({ everyMessage }) => {
  let xid: bigint;
  let position: string;
  beforeEach(async () => {
    fixture.everyMessage = everyMessage;
    const id = await fixture.send('A');
    const [row] = await fixture.database.query<{ xid: string; position: string }>(
      'select xid::text as xid, position from outbox.message where id = $1',
      [id],
    );
    xid = BigInt(row?.xid ?? 0);
    position = row?.position ?? '';
  });

  /** Whether a lane that has come so far has work. */
  const hasWork = async (cursor: string, snapshot: string): Promise<boolean> => {
    await fixture.database.query('update outbox.lane set cursor = $1, snapshot = $2, started_at = null', [
      cursor,
      snapshot,
    ]);
    return (await wantedLanes(fixture.database, ['orders'])).length > 0;
  };
  const newsSince = async (snapshot: string): Promise<readonly object[]> => {
    const { news } = await look(fixture.database, snapshot);
    return news;
  };

  test('a lane has work beyond its cursor, and behind it what its snapshot could not see', async () => {
    expect(await hasWork('0', `${xid + 1n}:${xid + 1n}:`)).toBe(true);
    expect(await hasWork(position, `${xid + 1n}:${xid + 1n}:`)).toBe(false);
    expect(await hasWork(position, `${xid}:${xid}:`)).toBe(true);
    expect(await hasWork(position, `${xid}:${xid + 1n}:${xid}`)).toBe(true);
    await turnLeaf(fixture.database);
    expect(await hasWork(position, `${xid}:${xid}:`)).toBe(true);
    expect(await hasWork(position, `${xid - 1n}:${xid + 1n}:${xid - 1n}`)).toBe(false);
  });

  test('a look finds what the snapshot of the last one could not see', async () => {
    const news = [expect.objectContaining({ topic: 'orders', lane: 0, ready: true })];
    expect(await newsSince(`${xid}:${xid}:`)).toEqual(news);
    expect(await newsSince(`${xid}:${xid + 1n}:${xid}`)).toEqual(news);
    expect(await newsSince(`${xid + 1n}:${xid + 1n}:`)).toEqual([]);
    expect(await newsSince(`${xid - 1n}:${xid + 1n}:${xid - 1n}`)).toEqual([]);
    await turnLeaf(fixture.database);
    expect(await newsSince(`${xid}:${xid}:`)).toEqual(news);
  });
});
