import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { settle } from '../../../src/store/lane/settle.ts';
import { pooledDatabase } from '../../support/faults/pooled-database.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';

const me = '00000000-0000-4000-8000-000000000001';

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(() => fixture.drop());

// A pooler hands no setting of a connection to our statements: those that are alone have the default of the database.
test.each(['repeatable read', 'serializable'])(
  'behind a pooler a settle that races with a renewal of its lane is written, also where transactions are %s by default',
  { tags: ['pooler-costs-speed-only'] },
  async (level) => {
    const { pathname } = new URL(fixture.url);
    await fixture.database.query(
      `alter database ${pathname.slice(1)} set default_transaction_isolation = '${level}'`,
    );
    const url = await pooledDatabase({ onTestFinished }, fixture.url, 2);
    const pooled = openDatabase({ url, connections: 2, ownNames: true });
    onTestFinished(() => pooled.close());
    expect(await pooled.query('show transaction_isolation')).toEqual([{ transaction_isolation: level }]);
    await acquireLane(pooled, fixture.lane, me);
    const renewing = await fixture.begin();
    await renewing.query(`update outbox.lane set alive_until = clock_timestamp() + interval '10 seconds'`);

    const settled = settle(pooled, fixture.lane, {
      owner: me,
      cursor: '0',
      snapshot: '1:1:',
      changes: [],
      claimSnapshot: '1:1:',
      durable: true,
    });
    await untilLockWaits(fixture.database, 1);
    await renewing.commit();

    expect(await settled).toBe(true);
  },
);
