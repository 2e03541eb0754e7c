import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { print } from '../../../src/brokers/print/print-transport.ts';
import type { Sql } from '../../../src/store/database/database.ts';
import { readUndelivered } from '../../../src/store/doctor/undelivered.ts';
import { writeRelay } from '../../../src/store/installation/relays.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { examined } from '../../support/fixtures/doctor.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { quietRelay } from '../../support/fixtures/quiet-figures.ts';

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(() => fixture.drop());

const relayRuns = (): Promise<unknown> => writeRelay(fixture.database, { ...quietRelay, id: randomUUID() });
/** Its messages have waited for so long. */
const age = (): Promise<unknown> =>
  fixture.database.query(`update outbox.message set created_at = created_at - interval '20 minutes'`);
const undelivered = async () =>
  (await examined({ database: { url: fixture.url }, transports: { print: print() } })).get('undelivered');

test('doctor names a topic that no relay has announced while messages of it are due', {
  tags: ['misspelled-topic-warned-of'],
}, async () => {
  await relayRuns();
  await acquireLane(fixture.database, fixture.lane, randomUUID());
  await fixture.send('owned');
  await age();
  expect(await undelivered()).toMatchObject({ state: 'ok' });

  await fixture.database.query('delete from outbox.topic');
  expect(await undelivered()).toEqual({
    check: 'undelivered',
    state: 'warning',
    message:
      'No relay has announced orders, of which a message has been due for 20 min: nothing delivers it.',
    next: 'Add it to `topics`, or withdraw its messages: temporal-outbox list --topic orders',
  });
});

test('doctor names an announced topic that no running relay takes, if its messages have waited for long', async () => {
  await relayRuns();
  await fixture.send('new');
  expect(await undelivered()).toMatchObject({ state: 'ok' });

  await age();
  expect(await undelivered()).toMatchObject({
    state: 'warning',
    message: 'No relay drains orders/0, of which a message has been due for 20 min.',
    next: expect.stringContaining('`topics`'),
  });

  await fixture.database.query('update outbox.topic set paused = true');
  expect(await undelivered()).toMatchObject({ state: 'ok' });
});

test('a lane that a relay takes a moment later is not told, however long a message of it was blocked', async () => {
  await fixture.send('new');
  await age();
  const taking: Sql = {
    query: async (text, values) => {
      const rows = await fixture.database.query<never>(text, values);
      await acquireLane(fixture.database, fixture.lane, randomUUID());
      return rows;
    },
  };

  expect(await readUndelivered(taking)).toEqual([]);
});
