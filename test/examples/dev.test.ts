import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { startProcess } from '../support/fixtures/cli-process.ts';
import { createEmptyDatabase } from '../support/fixtures/database.ts';
import { until } from '../support/fixtures/until.ts';

const examples = path.resolve(import.meta.dirname, '../../examples');

const config = `import { defineConfig, env } from 'temporal-outbox';
import { kafka } from 'temporal-outbox/transports';
import { greeted } from './topics.ts';

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS') },
  topics: [greeted],
  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS') }) },
});
`;
const topics = `import { topic } from 'temporal-outbox';
import { z } from 'zod';

export const greeted = topic('greeted-in-development', z.object({ name: z.string() }));
`;
const consume = `import { Pool } from 'pg';
import { clientOf } from 'temporal-outbox';
import { consumer } from 'temporal-outbox/consumer';
import config from './outbox.config.ts';
import { greeting } from './greeting.ts';
import { greeted } from './topics.ts';

const client = clientOf(new Pool({ connectionString: process.env['DATABASE_URL'] }));
const running = await consumer(client, { config, group: 'greeters', logger: false })
  .on(greeted, async (_tx, { payload }) => console.log(greeting(payload.name)))
  .start();
process.once('SIGTERM', () => void running.stop().then(() => process.exit()));
`;
const greeting = (word: string) => `export const greeting = (name: string): string => '${word} ' + name;\n`;

test('dev runs a consumer in TypeScript by tsx, and again when a file that it imports changes', {}, async (context) => {
  const made = await createEmptyDatabase();
  context.onTestFinished(() => made.drop());
  // Next to the packages of the examples, of which tsx is one.
  const folder = await mkdtemp(path.join(examples, '.dev-'));
  context.onTestFinished(() => rm(folder, { recursive: true }));
  const files = { 'outbox.config.ts': config, 'topics.ts': topics, 'consume.ts': consume };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  await writeFile(path.join(folder, 'greeting.ts'), greeting('Hello'));
  const dev = startProcess(
    context,
    [
      path.join(examples, 'node_modules/temporal-outbox/dist/bin/temporal-outbox.js'),
      'dev',
      '--config',
      path.join(folder, 'outbox.config.ts'),
      '--consumer',
      path.join(folder, 'consume.ts'),
    ],
    {
      DATABASE_URL: made.url,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      KAFKA_BROKERS: inject('kafkaBrokers'),
    },
  );
  const greet = (name: string) =>
    made.database.query('select outbox.send($1, $2::text)', [
      'greeted-in-development',
      JSON.stringify({ name }),
    ]);
  const said = (line: string) =>
    until(async () => dev.stdout().includes(line), 90_000).catch(() =>
      expect(dev.stdout() + dev.stderr()).toContain(line),
    );

  await said('relay    | Delivering 1 topic.');
  await greet('Ada');
  await said('consumer | Hello Ada\n');
  await writeFile(path.join(folder, 'greeting.ts'), greeting('Good morning,'));
  await said('consumer | Restarting ');
  await greet('Grace');
  await said('consumer | Good morning, Grace\n');

  dev.signal('SIGINT');
  expect(await dev.exited).toBe(0);
});
