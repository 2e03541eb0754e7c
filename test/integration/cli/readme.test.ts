import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createEmptyDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { PrismaProject } from '../../support/fixtures/prisma-project.ts';
import { until } from '../../support/fixtures/until.ts';
import { observer, untilServed } from '../../support/kafka/kafka-topic.ts';
import { ReadmeProject } from '../../support/processes/readme-project.ts';

let database: TestDatabase;
let project: ReadmeProject;
beforeAll(async () => {
  database = await createEmptyDatabase();
  project = await ReadmeProject.create({
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    KAFKA_BROKERS: inject('kafkaBrokers'),
  });
});
afterAll(async () => {
  await project.remove();
  await database.drop();
});

test('the programs of README compile and do what they say', { timeout: 180_000 }, async () => {
  const opening = project.blocks.find(({ language, name }) => language === 'ts' && name === undefined);
  const shopHead = project.text('shop.ts').split('\nconst placeOrder')[0];
  await project.add('opening.ts', `${shopHead}\nconst data = {};\n${opening?.text}`);
  expect(await project.build()).toBe('');

  const script = project.blocks.find(({ text }) => text.includes('npx prisma'));
  const lines = (script?.text ?? '').split('\n').flatMap((line) => line.replace(/ +#.*/, '') || []);
  expect(lines[0]).toBe('npx prisma generate && npx prisma db push');
  const schema = { path: 'schema.prisma', content: project.schema };
  expect(await new PrismaProject(database.url, [schema]).dbPush()).toMatchObject({ unexecutable: [] });

  const said: Record<string, string> = {};
  const services = new Map<string, ReturnType<typeof project.start>>();
  for (const line of lines.slice(1)) {
    const command = line.replace(/ &$/, '');
    const started = project.start(command);
    if (command !== line) {
      services.set(command, started);
      continue;
    }
    expect(await started.exited, `${command}: ${started.said()}`).toBe(0);
    said[command] = started.said();
    if (command.includes('migrate')) await untilTopicsServed();
  }

  const shop = said['npx tsx shop.ts'] ?? '';
  const [paid, unpaid] = shop.match(/[0-9a-f-]{36}/g) ?? [];
  expect(shop).toBe(`order ${paid} is paid, its timeout canceled; order ${unpaid} has 3 seconds\n`);
  const consumer = services.get('npx tsx consume.ts');
  const expected = [
    `order ${paid} was placed`,
    `order ${unpaid} was placed`,
    `order ${unpaid} was not paid in time`,
  ];
  await until(() => expected.every((line) => consumer?.said().includes(line) ?? false), 60_000).catch(
    (cause: unknown) => {
      const told = [...services].map(([command, started]) => `${command}: ${started.said()}`);
      throw new Error(`Not everything was consumed.\n${told.join('\n')}`, { cause });
    },
  );
  expect(consumer?.said()).not.toContain(`order ${paid} was not paid`);
  const orders = await database.database.query('select id, status from "Order" order by status');
  expect(orders).toEqual([
    { id: unpaid, status: 'CANCELED' },
    { id: paid, status: 'PAID' },
  ]);
  expect(said['npx temporal-outbox status']).toContain('order-timeout');

  for (const started of services.values()) started.end('SIGTERM');
  for (const [command, started] of services)
    expect(await started.exited, `${command}: ${started.said()}`).toBe(0);
});

async function untilTopicsServed(): Promise<void> {
  const kafka = observer(inject('kafkaBrokers'));
  for (const topic of ['order-placed', 'order-timeout']) await untilServed(kafka, topic);
}
