import { readdirSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installsWithinMs, type ScratchProject, scratchProject } from './scratch-project.ts';

let sender: ScratchProject;
beforeAll(async () => {
  sender = await scratchProject('sender');
}, installsWithinMs);
afterAll(() => sender.remove());

const main = 'node_modules/temporal-outbox/dist/bin/temporal-outbox.js';
const temporal = '@temporalio/activity@1 @temporalio/client@1 @temporalio/worker@1 @temporalio/workflow@1';

/** Bytes of all files, as they are stored in blocks of 4 KiB. */
function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return files.reduce((sum, file) => {
    const { size } = statSync(path.join(file.parentPath, file.name));
    return sum + Math.ceil(size / 4_096) * 4_096;
  }, 0);
}

/** What a line of code makes of it in a program of the sender: the code of an error and what it says. */
async function thrownBy(code: string): Promise<string> {
  const { stdout, stderr } = await sender.node([
    '-e',
    `(async () => { ${code} })().catch((error) => console.log(error.code, error.message))`,
  ]);
  return stdout + stderr;
}

test('installing the package alone installs no client of Temporal, Kafka or Redis, and less than 20 MB', () => {
  const installed = readdirSync(path.join(sender.folder, 'node_modules'));
  expect(installed).toEqual(expect.arrayContaining(['temporal-outbox', 'commander', 'pg']));
  expect(
    installed.filter((name) =>
      ['@temporalio', 'kafkajs', '@platformatic', '@redis', '@prisma'].includes(name),
    ),
  ).toEqual([]);
  expect(sizeOf(path.join(sender.folder, 'node_modules'))).toBeLessThan(20_000_000);
});

test.each([
  [
    'a Kafka transport',
    `require('temporal-outbox/transports').kafka({ servers: 'a:1' })`,
    'Kafka',
    '@platformatic/kafka@1 kafkajs@2',
  ],
  [
    'a consumer',
    `require('temporal-outbox/consumer').consumer({ $transaction() {} }, { group: 'a' })`,
    'A relay or consumer',
    temporal,
  ],
  [
    'a relay',
    `const { print } = require('temporal-outbox/transports');
     const topics = [require('temporal-outbox').topic('a', { '~standard': { version: 1, vendor: 'none', validate: (value) => ({ value }) } })];
     const config = { database: { url: 'postgresql://a' }, temporal: {}, topics, transports: { print: print(() => {}) } };
     await require('temporal-outbox/relay').startRelay(config).ready`,
    'A relay or consumer',
    temporal,
  ],
  [
    'a filter',
    `require('temporal-outbox/redis').redisFilter({ url: 'redis://a' })`,
    'Redis',
    '@redis/client@6',
  ],
  [
    'a sender over HTTP',
    `require('temporal-outbox/transports').http({ secret: '' })`,
    'Sending over HTTP',
    'standardwebhooks@1 undici@7',
  ],
  [
    'a receiver over HTTP',
    `const request = new Request('http://a', { method: 'POST', body: '{}' });
     const options = { client: { $transaction() {} }, group: 'a', secret: 'a', report() {} };
     await require('temporal-outbox/http').receive(request, options, async () => {})`,
    'Receiving over HTTP',
    'standardwebhooks@1',
  ],
])('%s names the command that installs what it needs', async (_what, code, who, packages) => {
  expect(await thrownBy(code)).toBe(
    `OUTBOX_PACKAGE_MISSING ${who} needs packages that are not installed: npm install ${packages}\n`,
  );
});

test('a version that is not supported is refused with the supported ones, when it is to be loaded', async () => {
  const folder = path.join(sender.folder, 'node_modules/amqplib');
  await mkdir(folder, { recursive: true });
  await writeFile(
    path.join(folder, 'package.json'),
    JSON.stringify({ name: 'amqplib', version: '0.10.5', exports: './main.js' }),
  );
  await writeFile(path.join(folder, 'main.js'), '');
  const said = await thrownBy(`require('temporal-outbox/transports').rabbitmq({ url: 'amqp://a' })`);
  expect(said).toBe(
    'OUTBOX_PACKAGE_UNFIT RabbitMQ cannot use what is installed: amqplib 0.10.5 is not supported, but 2 (from 2.3.1): npm install amqplib@2\n',
  );
  expect(await thrownBy(`console.log(typeof require('temporal-outbox').send)`)).toBe('function\n');
  await rm(folder, { recursive: true });
});

test('the command runs, and for servers and the demo names what is missing', async () => {
  expect(await sender.node([main, '--version'])).toMatchObject({ code: 0, stderr: '' });
  for (const command of ['servers', 'demo'])
    expect((await sender.node([main, command])).stderr).toContain(
      `OUTBOX_PACKAGE_MISSING: A relay or consumer needs packages that are not installed: npm install ${temporal}`,
    );
});
