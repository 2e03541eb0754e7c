// @module-tag apart
import { expect, test } from 'vitest';
import { databaseOutages, watchDatabase } from '../../../src/app/relay/database-watch.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { ownPostgres } from '../../support/fixtures/own-postgres.ts';

test('a relay says whether the database answers it, while it does not and when it is back', {}, async (context) => {
  const server = await ownPostgres(context);
  const database = openDatabase({ url: server.url, connections: 2 });
  context.onTestFinished(() => database.close());
  const answers: boolean[] = [];
  const told: RelayEvent[] = [];
  const outages = databaseOutages((event) => void told.push(event));
  const watch = watchDatabase({
    database,
    looked(error) {
      answers.push(error === null);
      outages(error);
    },
  });
  context.onTestFinished(() => watch.stop());
  const untilLast = (up: boolean) => expect.poll(() => answers.at(-1), { timeout: 60_000 }).toBe(up);
  await untilLast(true);
  const frozen = await server.freeze();
  await untilLast(false);
  await expect.poll(() => told.length, { timeout: 60_000 }).toBe(1);
  frozen.thaw();
  await untilLast(true);
  expect(told).toEqual([
    { type: 'database-away', error: expect.stringMatching(/./) },
    { type: 'database-back', awayMs: expect.any(Number) },
  ]);
});
