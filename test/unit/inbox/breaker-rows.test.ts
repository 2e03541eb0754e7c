import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { PausedAddress } from '../../../src/inbox/consumer-event.ts';
import { BreakerRows } from '../../../src/inbox/handling/breaker-rows.ts';
import type { TransactionClient } from '../../../src/inbox/transaction-client.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { fakeTimeUntilEnd, pass } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';
import { until } from '../../support/fixtures/until.ts';

const processInfo = { host: 'shop-1', pid: 7, version: '1.2.3' };
const patience = { maxWait: 2_000, timeout: 5_000 };

const paused = (differs: Partial<PausedAddress> = {}): PausedAddress => ({
  address: 'orders',
  since: new Date(90_000),
  error: new Error('no'),
  errorText: 'Error: no',
  failedKeys: 5,
  keys: 8,
  probes: 2,
  nextProbeAt: new Date(104_000),
  ...differs,
});

const rowsOf = (client: TransactionClient<Transaction>, told = (): readonly PausedAddress[] => [paused()]) =>
  new BreakerRows({ client, group: 'shop', processInfo, paused: told });

/** The rows and their owner, as the database was given them. */
const written = (database: ScriptedClient) =>
  database
    .said('insert into outbox.breaker')
    .map((values) => [values[0], ...values.slice(2, 4), JSON.parse(String(values[4])) as unknown]);

test('addresses that pause are written as durations until they resume; then nothing is written', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 100_000 });
  onTestFinished(() => void vi.useRealTimers());
  const database = new ScriptedClient();
  let now: readonly PausedAddress[] = [
    paused(),
    paused({ address: 'returns', since: new Date(101_000), nextProbeAt: new Date(99_000) }),
  ];
  const rows = rowsOf(database.client, () => now);
  expect(database.transactions, 'nothing was told').toEqual([]);

  rows.nudge();
  rows.nudge();
  await until(() => written(database).length > 0, 5_000, 1);
  const row = {
    address: 'orders',
    pausedMs: 10_000,
    failedKeys: 5,
    keys: 8,
    probes: 2,
    nextProbeInMs: 4_000,
    error: 'Error: no',
  };
  expect(written(database)).toEqual([
    ['shop', 'shop-1', 7, [row, { ...row, address: 'returns', pausedMs: 0, nextProbeInMs: 0 }]],
  ]);
  now = [];
  rows.nudge();
  await until(() => written(database).length > 1, 5_000, 1);
  await rows.stop();

  expect(written(database).at(-1)?.[3]).toEqual([]);
  expect(written(database), 'the rows are gone already').toHaveLength(2);
  expect(new Set(database.said('insert into outbox.breaker').map(([, consumer]) => consumer)).size).toBe(1);
  expect(database.transactions.map(({ options }) => options)).toEqual([patience, patience]);
});

test('rows that may have been written are removed, although the answer was lost', async () => {
  const database = new ScriptedClient().on('outbox.breaker', () => {
    throw new Error('away');
  });
  const rows = rowsOf(database.client);
  rows.nudge();
  await until(() => written(database).length > 0, 5_000, 1);
  await rows.stop();

  expect(written(database).map((one) => one[3])).toEqual([[expect.anything()], []]);
});

test('when nothing is paused any more at a nudge, one write is enough, and a later pause is written', async () => {
  fakeTimeUntilEnd();
  const database = new ScriptedClient();
  let now: readonly PausedAddress[] = [];
  const rows = rowsOf(database.client, () => now);
  rows.nudge();
  await pass(60_000);
  expect(written(database).map((one) => one[3])).toEqual([[]]);
  now = [paused()];
  rows.nudge();
  await pass(0);
  expect(written(database)).toHaveLength(2);
  await rows.stop();
  expect(written(database).map((one) => Array.isArray(one[3]) && one[3].length)).toEqual([0, 1, 0]);
});

test('pauses are written again every two seconds, and after changes at most four times a second', async () => {
  fakeTimeUntilEnd();
  const database = new ScriptedClient();
  const rows = rowsOf(database.client);
  rows.nudge();
  await pass(1_999);
  expect(written(database)).toHaveLength(1);
  await pass(1);
  expect(written(database)).toHaveLength(2);
  rows.nudge();
  await pass(249);
  expect(written(database)).toHaveLength(2);
  await pass(1);
  expect(written(database)).toHaveLength(3);
  await rows.stop();
});

test('a stop waits for the write in progress, and for that of its end', async () => {
  const database = new ScriptedClient();
  const [first, second] = [gate(), gate()];
  const gates = [first, second];
  const client: TransactionClient<Transaction> = {
    $transaction: async (work, options) => {
      await gates.shift()?.opened;
      return database.client.$transaction(work, options);
    },
  };
  const rows = rowsOf(client);
  rows.nudge();
  let stopped = false;
  const stopping = rows.stop().then(() => (stopped = true));
  second.open();
  await turn();
  expect(written(database), 'the end comes last').toEqual([]);
  first.open();
  await stopping;
  expect(written(database).map((one) => one[3])).toEqual([[expect.anything()], []]);

  const third = gate();
  gates.push(gate(), third);
  gates[0]?.open();
  const again = rowsOf(client);
  again.nudge();
  await turn();
  stopped = false;
  const ending = again.stop().then(() => (stopped = true));
  await turn();
  expect(stopped).toBe(false);
  third.open();
  await ending;
});
