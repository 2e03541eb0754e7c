import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, inject, type TestContext, test } from 'vitest';
import { listenAddressOfFlag } from '../../../src/cli/flag-values.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { countedMetrics } from '../../../src/telemetry/counted-metrics.ts';
import { prometheusName } from '../../../src/telemetry/metric.ts';
import { type CliProcess, configFile, startCli } from '../../support/fixtures/cli-process.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { until } from '../../support/fixtures/until.ts';

/** A relay by the command, with its page of metrics. */
async function relayWith(context: TestContext, env: Readonly<Record<string, string>> = {}) {
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  const config = await configFile(context, { url: made.url, temporal: inject('temporalAddress') });
  const relay = startCli(context, ['relay', '--config', config, '--metrics', '127.0.0.1:0'], env);
  await expect.poll(() => relay.stdout(), { timeout: 60_000 }).toContain('Delivering 1 topic');
  const [, page = ''] = /metrics at (http:[^"\s]+)/.exec(relay.stdout()) ?? [];
  return { made, relay, page };
}

const read = async (page: string): Promise<string> => (await fetch(page)).text();

function ended(relay: CliProcess): Promise<number | null> {
  relay.signal('SIGTERM');
  return relay.exited;
}

/** A collector of OTLP, and what has come to it. */
async function collector(context: TestContext) {
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const received = async (): Promise<void> => {
      const body = await buffer(request);
      if (request.url === '/v1/metrics') bodies.push(body);
      response.end();
    };
    void received();
  }).listen(0, '127.0.0.1');
  context.onTestFinished(() => void server.close());
  await until(() => server.listening);
  return { port: (server.address() as AddressInfo).port, bodies };
}

test('a relay serves its metrics and those of Temporal on one page, and nothing else, and sends them by OTLP where the environment names a collector, at the latest when it stops', {
  tags: ['metrics-say-what-happened'],
}, async (context) => {
  const { port, bodies } = await collector(context);
  const { made, page, relay } = await relayWith(context, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  });
  await storeMessages(made.database, 'orders', [{ payload: '{}' }]);

  const sent = `${prometheusName(countedMetrics.sent)}{messaging_system="print",messaging_destination_name="orders",messaging_operation_name="publish"`;
  await until(async () => (await read(page)).includes(sent));
  const text = await read(page);
  expect(text).toMatch(new RegExp(`^# HELP ${prometheusName(countedMetrics.publishDelay)} `, 'm'));
  expect(text).toMatch(/^temporal_num_pollers\{/m);
  expect((await fetch(new URL('/', page))).status).toBe(404);
  expect((await fetch(page, { method: 'POST' })).status).toBe(404);
  // Whoever reaches the port may open connections, of which a process has only so many.
  const silent = Array.from({ length: 150 }, () =>
    connect(Number(new URL(page).port), '127.0.0.1').on('error', () => undefined),
  );
  context.onTestFinished(() => {
    for (const socket of silent) socket.destroy();
  });
  await until(() => silent.filter(({ closed }) => closed).length >= 50);
  expect(silent.at(-1)?.closed, 'the oldest make room').toBe(false);
  expect((await fetch(page)).status).toBe(200);
  expect(await ended(relay)).toBe(0);
  await expect(fetch(page)).rejects.toThrow('fetch failed');
  expect(Buffer.concat(bodies).toString('latin1')).toContain(countedMetrics.sent.name);
});

test('a port that is taken ends the relay with an error that names it', async (context) => {
  const other = createServer().listen(0, '127.0.0.1');
  context.onTestFinished(() => void other.close());
  await until(() => other.listening);
  const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  const config = await configFile(context, { url: made.url, temporal: inject('temporalAddress') });

  const second = startCli(context, ['relay', '--config', config, '--metrics', taken]);

  expect(await second.exited).toBe(1);
  expect(second.stderr()).toContain(`OUTBOX_PORT_UNAVAILABLE: Cannot listen at ${taken}`);
});

test.each([
  ['9464', { host: '0.0.0.0', port: 9464 }],
  ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
  ['[::1]:80', { host: '::1', port: 80 }],
  ['metrics.internal:65535', { host: 'metrics.internal', port: 65_535 }],
])('%s is an address to listen at', (text, address) => {
  expect(listenAddressOfFlag('metrics', text)).toEqual(address);
});

test.each(['', 'x', '65536', '::1:80', '1.2.3.4:', 'http://a:80', '-1'])(
  '"%s" is no address to listen at',
  (text) => {
    expect(() => listenAddressOfFlag('metrics', text)).toThrow('--metrics takes a port or host:port');
  },
);

test('a relay with metrics that cannot start, and so never had a worker, ends by itself', async (context) => {
  const config = await configFile(context, { url: '', temporal: inject('temporalAddress') });
  const source = await readFile(config, 'utf8');
  const missing = source
    .replace('{ defineConfig, topic }', '{ defineConfig, env, topic }')
    .replace('url: ""', "url: env('OUTBOX_NO_SUCH_VARIABLE')");
  await writeFile(config, missing);

  const relay = startCli(context, ['relay', '--config', config, '--metrics', '127.0.0.1:0']);

  expect(await relay.exited).toBe(1);
  expect(relay.stdout()).toContain('metrics at ');
  expect(relay.stdout()).toContain('OUTBOX_NO_SUCH_VARIABLE');
});
