import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ConsumerPresence } from '../../../src/inbox/consumer-presence.ts';
import type { TransactionClient } from '../../../src/inbox/transaction-client.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { byNow, fakeTimeUntilEnd, pass } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';
import { until } from '../../support/fixtures/until.ts';

const processInfo = { host: 'shop-1', pid: 7, version: '1.2.3' };
const patience = { maxWait: 2_000, timeout: 5_000 };

/** What `writeConsumer` was given, without its limits. */
const presences = (database: ScriptedClient) =>
  database
    .said('insert into outbox.consumer ')
    .map((values) => [values.slice(0, 5), JSON.parse(String(values[5])) as unknown]);

test('a consumer records where it runs and its partitions of all sources, by address, and removes its row', async () => {
  const database = new ScriptedClient();
  const presence = new ConsumerPresence({ client: database.client, group: 'shop', processInfo });
  presence.owns('kafka', [
    { address: 'orders', partition: 10 },
    { address: 'returns', partition: 0 },
    { address: 'orders', partition: 9 },
  ]);
  presence.owns('rabbitmq', [{ address: 'events', partition: 0 }]);

  presence.start();
  presence.start();
  await until(() => presences(database).length > 0, 5_000, 1);
  presence.owns('kafka', [{ address: 'orders', partition: 1 }]);
  await until(() => presences(database).length > 1, 5_000, 1);
  await presence.stop();

  const [id] = database.said('insert into outbox.consumer ')[0] ?? [];
  const mine = [id, 'shop', 'shop-1', 7, '1.2.3'];
  expect(presences(database)).toEqual([
    [
      mine,
      [
        { address: 'events', partitions: [0] },
        { address: 'orders', partitions: [9, 10] },
        { address: 'returns', partitions: [0] },
      ],
    ],
    [
      mine,
      [
        { address: 'events', partitions: [0] },
        { address: 'orders', partitions: [1] },
      ],
    ],
  ]);
  expect(database.said('delete from outbox.consumer where')).toEqual([[id]]);
  expect(database.transactions.map(({ options }) => options)).toEqual([patience, patience, patience]);
});

test('a presence that never began removes nothing, and an unreachable database is ignored', async () => {
  const none = new ScriptedClient();
  await new ConsumerPresence({ client: none.client, group: 'shop', processInfo }).stop();
  expect(none.transactions).toEqual([]);

  const away = new ScriptedClient().on('outbox.consumer', () => {
    throw new Error('away');
  });
  const presence = new ConsumerPresence({ client: away.client, group: 'shop', processInfo });
  presence.start();
  await until(() => away.transactions.length > 0, 5_000, 1);
  await presence.stop();
  expect(away.transactions).toHaveLength(2);
});

test('a presence is written again every five seconds, and after changes at most four times a second', async () => {
  fakeTimeUntilEnd();
  const database = new ScriptedClient();
  const presence = new ConsumerPresence({ client: database.client, group: 'shop', processInfo });
  presence.start();
  await pass(4_999);
  expect(presences(database)).toHaveLength(1);
  await pass(1);
  expect(presences(database)).toHaveLength(2);
  presence.owns('kafka', []);
  await pass(249);
  expect(presences(database)).toHaveLength(2);
  await pass(1);
  expect(presences(database)).toHaveLength(3);
  await byNow(presence.stop());
});

test('a stop waits for the write in progress and then removes the row', async () => {
  const database = new ScriptedClient();
  const first = gate();
  let asked = 0;
  const client: TransactionClient<Transaction> = {
    $transaction: async (work, options) => {
      if ((asked += 1) === 1) await first.opened;
      return database.client.$transaction(work, options);
    },
  };
  const presence = new ConsumerPresence({ client, group: 'shop', processInfo });
  presence.start();
  const stopping = presence.stop();
  await turn();
  expect(asked).toBe(1);
  first.open();
  await stopping;
  expect(database.transactions.map(({ statements }) => statements[0]?.text.includes('insert'))).toEqual([
    true,
    false,
  ]);
});
