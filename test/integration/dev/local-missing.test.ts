// @module-tag apart
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  startKafka,
  startPostgres,
  startRabbitmq,
  startRedis,
  startTemporal,
  timeSkippingServer,
} from '../../../dev/servers/index.ts';
import { openContext } from '../../../dev/servers/open-context.ts';
import { makeDataFolder } from '../../../dev/servers/process/data-folder.ts';
import { freePort } from '../../../dev/servers/process/free-port.ts';
import { processSpace } from '../../../dev/servers/process/process-identity.ts';
import { startServer } from '../../../dev/servers/process/server-process.ts';
import { installOnce } from '../../../dev/servers/providers/install-once.ts';

/** A cache without anything installed, and a PATH of only these programs. */
function bareMachine(programs: Readonly<Record<string, string>> = {}, ...folders: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'outbox-bare-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of folders) mkdirSync(join(folder, name), { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const cache = join(folder, 'cache');
  return { cache, env: { CI: 'true', PATH: folder, HOME: folder, TEMPORAL_OUTBOX_CACHE: cache } };
}

test.each([
  ['PostgreSQL without npm', startPostgres, {}, 'npm is not on PATH'],
  ['Temporal without Go', startTemporal, {}, 'go is not on PATH'],
  ['Temporal with an old Go', startTemporal, { go: 'echo go1.20.14' }, 'go1.20.14 is too old'],
  ['Kafka without Java', startKafka, {}, 'Java 17 or later is needed'],
  [
    'Kafka with an old Java',
    startKafka,
    { java: 'echo openjdk version \\"11.0.2\\"' },
    'Java 17 or later is needed',
  ],
  ['Kafka without Maven', startKafka, { java: 'echo openjdk version \\"17.0.1\\"' }, 'mvn is not on PATH'],
  ['Redis without Maven', startRedis, {}, 'mvn is not on PATH'],
  ['RabbitMQ, which no registry has,', startRabbitmq, {}, 'apt-get install rabbitmq-server'],
  ['the time-skipping server without Java', timeSkippingServer, {}, 'Java 17 or later is needed'],
])('%s is an error that names what to install', async (_name, start, programs, reason) => {
  const { env } = bareMachine(programs);

  await expect(start({ env })).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining(reason),
  });
});

test('without CI=true the error also mentions PATH and Docker', async () => {
  const { env } = bareMachine();

  await expect(startKafka({ env: { ...env, CI: undefined } })).rejects.toThrow(
    /path: .* docker: .* registry: /,
  );
});

test('a Redis on PATH that is too old is not used, and the error names its version', async () => {
  const { env } = bareMachine({ 'redis-server': 'echo Redis server v=5.0.14 sha=0' });

  await expect(startRedis({ env: { ...env, CI: undefined } })).rejects.toThrow(
    /path: Redis server v=5\.0\.14 sha=0 on PATH is not redis-server 6\.2 or later, below 9\./,
  );
});

test.each(['nowhere', 'http://127.0.0.1:6379', 'redis://'])(
  '%j is not an address of a Redis',
  async (url) => {
    await expect(startRedis({ env: { REDIS_URL: url } })).rejects.toMatchObject({
      code: 'OUTBOX_CONFIG_INVALID',
      details: { variable: 'REDIS_URL' },
    });
  },
);

test('a RabbitMQ on PATH that is too old is not used, and the error names its version', async () => {
  const { env } = bareMachine({ 'sbin/rabbitmq-server': '' }, 'plugins/rabbit-3.9.27');

  await expect(startRabbitmq({ env: { ...env, PATH: join(env.PATH, 'sbin') } })).rejects.toThrow(
    /^RabbitMQ cannot be started here\. path: 3\.9\.27 on PATH is not rabbitmq-server 3\.10 or later, below 5\.$/,
  );
});

test.each(['nowhere', 'http://127.0.0.1:5672', 'amqp://'])(
  '%j is not an address of a RabbitMQ',
  async (url) => {
    await expect(startRabbitmq({ env: { RABBITMQ_URL: url } })).rejects.toMatchObject({
      code: 'OUTBOX_CONFIG_INVALID',
      details: { variable: 'RABBITMQ_URL' },
    });
  },
);

test('an address where nothing listens is an error, not a reason to start another server', async () => {
  const port = await freePort();

  await expect(startTemporal({ env: { TEMPORAL_ADDRESS: `127.0.0.1:${port}` } })).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    details: { variable: 'TEMPORAL_ADDRESS', port },
  });
  await expect(startRedis({ env: { REDIS_URL: `redis://127.0.0.1:${port}/3` } })).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    details: { variable: 'REDIS_URL', port },
  });
  await expect(startRabbitmq({ env: { RABBITMQ_URL: `amqp://127.0.0.1:${port}` } })).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    details: { variable: 'RABBITMQ_URL', port },
  });
});

test('an address where something listens is used as it is', async () => {
  const listener = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  onTestFinished(() => void listener.close());
  const { port } = listener.address() as { port: number };
  const url = `postgresql://ada@127.0.0.1:${port}/shop`;

  expect(await startPostgres({ env: { DATABASE_URL: url } })).toMatchObject({ url, source: 'address' });
  const redisUrl = `redis://:secret@127.0.0.1:${port}/3`;
  expect(await startRedis({ env: { REDIS_URL: redisUrl } })).toMatchObject({
    url: redisUrl,
    source: 'address',
  });
  const kafka = await startKafka({ env: { KAFKA_BROKERS: `127.0.0.1:${port},127.0.0.1:${port}` } });
  expect(kafka).toMatchObject({ brokers: [`127.0.0.1:${port}`, `127.0.0.1:${port}`], nodes: [] });
});

test('a partial download is never used as a complete one', async () => {
  const halfDone =
    'while [ "$1" != --prefix ]; do shift; done; /bin/mkdir -p "$2/node_modules"; : > "$2/node_modules/half"; exit 7';
  const { cache, env } = bareMachine({ npm: halfDone });

  await expect(startPostgres({ env })).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining('npm ended with 7'),
  });

  expect(await readdir(join(cache, 'installed'))).toEqual([]);
});

test('concurrent requests for an installation share one', async () => {
  const { cache, env } = bareMachine();
  const context = await openContext({ env });
  let installations = 0;
  const install = async (folder: string) => {
    installations += 1;
    await writeFile(join(folder, 'whole'), 'yes');
  };

  const folders = await Promise.all([1, 2, 3, 4].map(() => installOnce(context, 'thing', install)));

  expect(installations).toBe(1);
  expect(new Set(folders)).toEqual(new Set([join(cache, 'installed', 'thing')]));
  expect(await readdir(join(cache, 'installed'))).toEqual(['thing']);
  expect(await readFile(join(cache, 'installed', 'thing', 'whole'), 'utf8')).toBe('yes');
});

test('the lock and the partial files of a killed installer block nothing', async () => {
  const { cache, env } = bareMachine();
  const context = await openContext({ env });
  const installed = join(cache, 'installed');
  await mkdir(join(installed, 'thing.partial-of-the-dead'), { recursive: true });
  const dead = { pid: process.pid, startedAt: 'long ago', space: processSpace(), token: 'dead' };
  await writeFile(join(installed, 'thing.lock'), JSON.stringify(dead));

  await installOnce(context, 'thing', (folder) => writeFile(join(folder, 'whole'), 'yes'));

  expect(await readdir(installed)).toEqual(['thing']);
});

test('a server that exits instead of starting is an error with its log', async () => {
  const { cache, env } = bareMachine();
  const context = await openContext({ env });
  const data = await makeDataFolder(context, 'broken');
  const start = startServer(context, {
    data,
    name: 'A server',
    nodeId: 1,
    address: '127.0.0.1:1',
    command: { file: '/bin/sh', args: ['-c', 'echo "no room on the disk"; exit 3'], env },
    stopSignal: 'SIGTERM',
    discardSignal: 'SIGKILL',
    readyWithinMs: 10_000,
    probe: () => Promise.reject(new Error('not yet')),
  });

  await expect(start).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(/^A server ended instead of starting[^]*no room on the disk/),
    details: { logFile: join(cache, 'log', `${data.runId}.log`) },
  });
  expect(await readdir(join(cache, 'run'))).toEqual([]);
});
