import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { runCli } from '../../../support/fixtures/cli.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { brokerAt } from '../broker.ts';

const root = path.resolve(import.meta.dirname, '../../../..');

/** Runs commands on a configuration with two topics over RabbitMQ, `orders` and `bills`. */
async function commands(addresses: readonly [orders: string, bills: string]) {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-creating-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const config = path.join(folder, 'outbox.config.ts');
  await writeFile(
    config,
    `import { defineConfig, topic } from '${root}/dist/src/index.js';
import { rabbitmq } from '${root}/dist/src/transports.js';
import { z } from '${root}/node_modules/zod';
export default defineConfig({
  database: { url: ${JSON.stringify(made.url)} },
  temporal: { address: ${JSON.stringify(inject('temporalAddress'))} },
  topics: [
    topic('orders', z.unknown(), { address: '${addresses[0]}' }),
    topic('bills', z.unknown(), { address: '${addresses[1]}' }),
  ],
  transports: { broker: rabbitmq({ url: ${JSON.stringify(inject('rabbitmqUrl'))} }) },
});
`,
  );
  return async (...args: readonly string[]) => {
    const { code, stderr, stdout } = await runCli([...args, '--json', '--config', config]);
    return { code, answer: JSON.parse(stdout === '' ? stderr : stdout) as Readonly<Record<string, unknown>> };
  };
}

test('doctor names what is missing with the command that creates it; the command creates it once', async () => {
  const id = randomUUID().slice(0, 8);
  const [orders, bills] = [`orders-${id}`, `bills-${id}`] as const;
  const run = await commands([orders, bills]);
  const broker = await brokerAt(inject('rabbitmqUrl'));
  onTestFinished(() => broker.close());
  const group = ['--group', 'billing', '--topic', 'orders'] as const;
  const mine = ({ answer }: Awaited<ReturnType<typeof run>>) =>
    (answer['findings'] as readonly { readonly check: string; readonly next: string }[]).filter(({ check }) =>
      /^(?:broker|queue)/.test(check),
    );

  const missing = await run('doctor', ...group);
  expect(missing.code).toBe(1);
  expect(mine(missing)).toMatchObject([
    { check: `broker ${orders}`, state: 'problem', next: 'temporal-outbox migrate --create' },
    { check: `broker ${bills}`, state: 'problem', next: 'temporal-outbox migrate --create' },
    {
      check: 'broker billing',
      state: 'problem',
      message: expect.stringContaining(`the queue ${orders}.billing`),
      next: 'temporal-outbox migrate --create --group billing --topic orders',
    },
  ]);

  const everything = [orders, bills, `the queue ${orders}.billing`];
  expect(await run('migrate', '--create', ...group)).toMatchObject({
    code: 0,
    answer: { created: everything },
  });
  expect(await run('migrate', ...group)).toMatchObject({ code: 0, answer: { created: [] } });
  await broker.channel.checkQueue(`${orders}.billing`);

  expect(mine(await run('doctor', ...group))).toMatchObject([
    { check: 'broker', state: 'ok' },
    { check: 'broker billing', state: 'ok' },
    { check: `queue ${orders}.billing`, state: 'ok' },
  ]);
});

test('a topic that the configuration does not have is refused before anything is created', async () => {
  const address = `orders-${randomUUID().slice(0, 8)}`;
  const run = await commands([address, `${address}-bills`]);

  const { answer, code } = await run('migrate', '--create', '--group', 'billing', '--topic', 'order');

  expect(code).not.toBe(0);
  expect(answer).toMatchObject({ code: 'OUTBOX_TOPIC_UNKNOWN' });
  const broker = await brokerAt(inject('rabbitmqUrl'));
  onTestFinished(() => broker.close());
  const channel = await broker.model.createChannel();
  channel.on('error', () => undefined);
  await expect(channel.checkExchange(address)).rejects.toThrow('NOT_FOUND');
});
