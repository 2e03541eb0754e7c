import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { keepPresence } from '../../../src/app/relay/relay-presence.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { gate } from '../../support/fixtures/gate.ts';

test('a relay that stops while it records itself leaves no row behind', async () => {
  const made = await createTestDatabase();
  const { database } = made;
  onTestFinished(() => made.drop());
  const writing = gate();
  const mayWrite = gate();
  const steps: string[] = [];
  const slow: Database = {
    ...database,
    async query(text, values) {
      const write = text.includes('insert into outbox.relay');
      if (write) {
        writing.open();
        await mayWrite.opened;
      } else if (text.includes('delete from outbox.relay')) steps.push('deleted');
      const rows = await database.query(text, values);
      if (write) steps.push('written');
      return rows as never;
    },
  };
  const presence = keepPresence({
    database: slow,
    config: { topics: [], transports: {} },
    temporal: { server: 'Temporal', address: 'a:1', ask: async () => null },
    certificates: [],
    asked: () => undefined,
  });
  await writing.opened;

  const stopped = presence.stop();
  // Whatever does not wait for the write comes within a few turns.
  for (let turns = 0; turns < 20; turns += 1) await turn();
  mayWrite.open();
  await stopped;

  expect(steps).toEqual(['written', 'deleted']);
  expect(await database.query('select from outbox.relay')).toEqual([]);
});
