import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, type TestContext, test } from 'vitest';
import { storeMessages } from '../../../src/store/message/write.ts';
import { refusingServer } from '../../support/faults/refusing-server.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { type CliProcess, configFile, startCli } from '../../support/fixtures/cli-process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { logLinesIn, logLinesOf } from '../../support/fixtures/log-lines.ts';
import { until } from '../../support/fixtures/until.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

const portOf = (relay: CliProcess): string =>
  String(logLinesOf(relay).find(({ event }) => event === 'health-served')?.['port']);

const eventsOf = (relay: CliProcess) => logLinesOf(relay).map(({ event }) => event);

/** A transport that refuses "poison", and holds while a file `away` is in its folder. */
const scripted = (folder: string) => `
const away = () => existsSync('${folder}/away');
const scripted = {
  name: 'scripted',
  publish: async ({ messages }) => away()
    ? { outcomes: messages.map(() => ({ kind: 'deferred', onWire: false })), hold: { scope: 'topic', reason: 'it is away' } }
    : { outcomes: messages.map(({ payload }) => payload === '"poison"'
        ? { kind: 'permanent', error: 'refused by the script' }
        : { kind: 'acknowledged', partition: null, offset: null }) },
  probe: async () => { if (away()) throw new Error('it is away'); },
  close: async () => undefined,
};`;

/** A configuration of one topic over that transport, and its folder. */
async function scriptedConfig(context: TestContext): Promise<{ config: string; folder: string }> {
  const config = await configFile(context, { url: made.url, temporal: inject('temporalAddress') });
  const folder = path.dirname(config);
  const source = path.resolve('dist/src/index.js');
  await writeFile(
    config,
    `import { existsSync } from 'node:fs';
import { defineConfig, topic } from '${source}';
import { z } from '${path.resolve('node_modules/zod')}';
${scripted(folder)}
export default defineConfig({
  database: { url: ${JSON.stringify(made.url)} },
  temporal: { address: ${JSON.stringify(inject('temporalAddress'))} },
  topics: [topic('orders', z.unknown())],
  transports: { scripted },
});
`,
  );
  return { config, folder };
}

const send = (...payloads: readonly string[]) =>
  storeMessages(
    made.database,
    'orders',
    payloads.map((payload) => ({ payload: JSON.stringify(payload) })),
  );

test('every line of a relay has the schema of logs, on one stream: start, failure, hold and stop', {
  tags: ['log-has-one-schema'],
}, async (context) => {
  const { config, folder } = await scriptedConfig(context);
  const relay = startCli(context, ['relay', '--config', config, '--json', '--health', '127.0.0.1:0']);
  const told = async (event: string) => {
    await until(() => relay.stderr() !== '' || eventsOf(relay).includes(event), 120_000);
    expect(relay.stderr(), 'everything is on one stream').toBe('');
  };
  await told('ready');
  const port = portOf(relay);
  const ask = (name: string) => fetch(`http://127.0.0.1:${port}${name}`);
  expect((await Promise.all(['/live', '/ready', '/started'].map(ask))).map(({ status }) => status)).toEqual([
    200, 200, 200,
  ]);

  await send('one', 'poison', 'two', 'three');
  await told('failed');
  await writeFile(`${folder}/away`, '');
  await send('four', 'five');
  await told('hold-began');
  // A lane that is given up and taken again fails nothing in between.
  await until(async () => /"state":"running".*"lane orders\/0"/.test(await (await ask('/ready')).text()));
  await rm(`${folder}/away`);
  await told('hold-ended');
  relay.signal('SIGTERM');
  expect(await relay.exited).toBe(0);

  expect(relay.stderr()).toBe('');
  const lines = logLinesOf(relay);
  const events = lines.map(({ event }) => event);
  const story = ['health-served', 'ready', 'failed', 'hold-began', 'hold-ended', 'stopping', 'stopped'];
  expect([...new Set(events)].filter((event) => story.includes(event))).toEqual(story);
  const count = (event: string) => events.filter((one) => one === event).length;
  expect([count('hold-began'), count('hold-ended')], 'however often its lane was given up').toEqual([1, 1]);
  expect(lines.findLast(({ event }) => event === 'hold-ended')).toMatchObject({ over: true });
  expect(count('failed')).toBe(1);
  const levels = new Map(lines.map(({ event, level }) => [event, level]));
  expect(['ready', 'failed', 'hold-began', 'hold-ended'].map((event) => levels.get(event))).toEqual([
    'info',
    'error',
    'warn',
    'info',
  ]);
  const failed = lines.find(({ event }) => event === 'failed');
  expect(failed).toMatchObject({
    topic: 'orders',
    error: 'refused by the script',
    next: expect.stringContaining('temporal-outbox show ') as string,
  });
  const others = lines.filter(({ level, event }) => level === 'info' && !story.includes(event));
  expect(others.length, 'none for each of six messages').toBeLessThan(4);
  expect(lines.map(({ time }) => time)).toEqual(lines.map(({ time }) => time).toSorted());
  await expect(ask('/live'), 'the probes end with the relay').rejects.toThrow('fetch failed');
});

test('a relay that waits for its database is live and not ready, and its end is a line of the same log', {
  tags: ['probes-restart-nothing'],
}, async (context) => {
  const { address } = await refusingServer(context);
  const url = `postgresql://someone:not-to-be-seen@${address}/somewhere`;
  const config = await configFile(context, { url, temporal: inject('temporalAddress') });
  const relay = startCli(context, ['relay', '--config', config, '--health', '127.0.0.1:0']);
  await until(() => eventsOf(relay).includes('waiting-for-server'), 120_000);
  const answers = await Promise.all(
    ['/live', '/ready', '/started', '/else'].map((name) => fetch(`http://127.0.0.1:${portOf(relay)}${name}`)),
  );

  expect(answers.map(({ status }) => status)).toEqual([200, 503, 503, 404]);
  expect(await answers[1]?.json()).toMatchObject({
    state: 'starting',
    joined: false,
    failing: [{ what: 'PostgreSQL' }],
  });
  relay.signal('SIGTERM');
  expect(await relay.exited).toBe(0);
  expect(eventsOf(relay).at(-1)).toBe('stopped');
  expect(relay.stdout()).not.toContain('not-to-be-seen');
});

test('a port in use, or no address, ends a relay before it delivers, with a code', async (context) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  context.onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  const config = await configFile(context, { url: made.url, temporal: inject('temporalAddress') });
  const [used, unreadable] = await Promise.all([
    runCli(['relay', '--config', config, '--json', '--health', `127.0.0.1:${port}`]),
    runCli(['relay', '--config', config, '--health', 'here']),
  ]);

  expect(used.code).toBe(1);
  expect(used.stderr).toContain(`OUTBOX_PORT_UNAVAILABLE: Cannot listen at 127.0.0.1:${port}: `);
  expect(logLinesIn(used.stdout)).toMatchObject([
    { level: 'error', event: 'ended', code: 'OUTBOX_PORT_UNAVAILABLE' },
  ]);
  expect(unreadable.code).toBe(2);
  expect(unreadable.stderr).toContain('--health takes a port or host:port');
});
