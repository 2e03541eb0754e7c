import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { settle } from '../../../src/store/lane/settle.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';

test.each([
  [true, 'on'],
  [false, 'off'],
])('a settle whose durability is %s commits with synchronous_commit %s', async (durable, setting) => {
  const fixture = await laneFixture();
  onTestFinished(() => fixture.drop());
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
