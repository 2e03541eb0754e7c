import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, inject, type TestContext, test } from 'vitest';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { proxiedDatabase } from '../../support/faults/proxied-database.ts';
import { refusingServer } from '../../support/faults/refusing-server.ts';
import { type CliProcess, configFile, startCli, startProcess } from '../../support/fixtures/cli-process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { until } from '../../support/fixtures/until.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';
import { builtProgram } from '../../support/processes/built-program.ts';

let made: TestDatabase;
let address: string;
beforeAll(async () => {
  made = await createTestDatabase();
  address = await createTopic(observer(inject('kafkaBrokers')));
});
afterAll(() => made.drop());

/** With nothing in hand a process leaves within a second of the signal; what a busy machine adds is not its own. */
const withinMs = 1_000;
/** Has a process say at its end for how long it has waited since the signal. */
const env = { NODE_OPTIONS: `--import=${pathToFileURL(builtProgram('waited-main')).href}` };

/** Sends SIGTERM, and answers for how many milliseconds the process waited before it left. */
async function leave(running: CliProcess): Promise<number> {
  running.signal('SIGTERM');
  const code = await running.exited;
  expect(code, running.stderr()).toBe(0);
  return Number(/\nwaited (\d+) ms\n/.exec(running.stderr())?.[1]);
}

async function relay(context: TestContext, { url = made.url, temporal = inject('temporalAddress') } = {}) {
  const config = await configFile(context, { url, temporal });
  return startCli(context, ['relay', '--config', config], env);
}

function consumerOf(context: TestContext, { url = made.url, brokers = inject('kafkaBrokers') } = {}) {
  const args = [url, brokers, address, `group-${crypto.randomUUID()}`];
  return startProcess(context, [builtProgram('patient-consumer-main'), ...args], env);
}

const ready = (running: CliProcess) => () => /Delivering|ready/.test(running.stdout());

test('a relay with nothing in hand exits within a second of SIGTERM', async (context) => {
  const running = await relay(context);
  await until(ready(running), 120_000);

  expect(await leave(running)).toBeLessThan(withinMs);
});

test('a relay whose database has just vanished exits within a second', async (context) => {
  const { proxy, url } = await proxiedDatabase(context, made.url, 1);
  const running = await relay(context, { url });
  await until(ready(running), 120_000);
  proxy.inject({ kind: 'blackhole' });
  await until(() => proxy.fired('blackhole') > 0);

  expect(await leave(running)).toBeLessThan(withinMs);
});

test('a relay whose Temporal has just vanished exits within a second', async (context) => {
  const proxy = await startFaultProxy(inject('temporalAddress'));
  context.onTestFinished(() => proxy.close());
  const running = await relay(context, { temporal: proxy.address });
  await until(ready(running), 120_000);
  proxy.inject({ kind: 'blackhole' });

  expect(await leave(running)).toBeLessThan(withinMs);
});

test('a consumer with nothing in hand exits within a second of SIGTERM', async (context) => {
  const running = consumerOf(context);
  await until(ready(running), 120_000);

  expect(await leave(running)).toBeLessThan(withinMs);
});

test('a consumer that waits for a silent database reports it and exits within a second', async (context) => {
  const { proxy, url } = await proxiedDatabase(context, made.url, 1);
  proxy.inject({ kind: 'blackhole' });
  const running = consumerOf(context, { url });
  await until(
    () => running.stderr().includes('waits for PostgreSQL: OutboxError: No answer for 2 s.'),
    120_000,
  );

  expect(await leave(running)).toBeLessThan(withinMs);
});

test('a consumer that waits for its broker reports it and exits within a second', async (context) => {
  const broker = await refusingServer(context);
  const running = consumerOf(context, { brokers: broker.address });
  await until(() => running.stderr().includes('waits for kafka'), 120_000);

  expect(await leave(running)).toBeLessThan(withinMs);
});

test('a consumer whose database has just vanished exits within a second', async (context) => {
  const { proxy, url } = await proxiedDatabase(context, made.url, 1);
  const running = consumerOf(context, { url });
  await until(ready(running), 120_000);
  proxy.inject({ kind: 'blackhole' });
  await until(() => proxy.fired('blackhole') > 0);

  expect(await leave(running)).toBeLessThan(withinMs);
});
