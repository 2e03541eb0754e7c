import { expect, test } from 'vitest';
import { changeLanes } from '../../../src/operations/delivery/lanes.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';

test('a change of many lanes leaves connections of its pool to others', async ({ onTestFinished }) => {
  const fixture = await laneFixture({ lanes: 64 });
  onTestFinished(() => fixture.drop());
  let [running, most] = [0, 0];
  const counted: Database = {
    ...fixture.database,
    async query<Row>(...statement: Parameters<Database['query']>) {
      running += 1;
      most = Math.max(most, running);
      return fixture.database.query<Row>(...statement).finally(() => {
        running -= 1;
      });
    },
  };

  expect(await changeLanes(counted, 'orders', 128, { actor: 'test' })).toMatchObject({ done: true });

  expect(most).toBeGreaterThan(1);
  // The operations have five. Who waits for one for five seconds counts the server as away.
  expect(most).toBeLessThan(5);
});
