import { spawn } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createEmptyDatabase, createTestDatabase } from '../support/fixtures/database.ts';
import { until } from '../support/fixtures/until.ts';
import { untilServed } from '../support/kafka/kafka-topic.ts';
import { installsWithinMs, printed, type ScratchProject, scratchProject } from './scratch-project.ts';

let service: ScratchProject;
beforeAll(async () => {
  service = await scratchProject('service');
}, installsWithinMs);
afterAll(() => service.remove());

const main = '../node_modules/temporal-outbox/dist/bin/temporal-outbox.js';
const prismaCli = path.resolve(import.meta.dirname, '../../node_modules/prisma/build/index.js');
/** The older one takes minutes to check the declarations of Temporal and Prisma, too. */
const compilers = [
  { version: '5.9', name: 'typescript', skipLibCheck: true },
  { version: '7', name: 'typescript-7', skipLibCheck: false },
];

describe.each([
  { kind: 'commonjs', moduleFormat: 'cjs' },
  { kind: 'module', moduleFormat: 'esm' },
])('a shop of type "$kind"', ({ kind, moduleFormat }) => {
  beforeAll(async () => {
    const folder = path.join(service.folder, kind);
    await cp(path.join(service.folder, 'shop'), folder, { recursive: true });
    await writeFile(
      path.join(folder, 'package.json'),
      JSON.stringify({ name: kind, private: true, type: kind }),
    );
    const schema = path.join(folder, 'shop.prisma');
    await writeFile(schema, (await readFile(schema, 'utf8')).replace('MODULE_FORMAT', moduleFormat));
    const env = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: '1' };
    const args = [prismaCli, 'generate', '--no-hints', '--schema', 'shop.prisma'];
    await service.node(args, { env, within: kind });
  });

  test.each(compilers)('compiles under node16 with TypeScript $version', async ({ name, skipLibCheck }) => {
    const args = [`../node_modules/${name}/bin/tsc`, '-p', '.', '--skipLibCheck', String(skipLibCheck)];
    expect(printed(await service.node(args, { within: kind }))).toBe('');
  });

  test('sends, cancels and consumes', async (context) => {
    const database = await createEmptyDatabase();
    context.onTestFinished(() => database.drop());
    const env = {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      KAFKA_BROKERS: inject('kafkaBrokers'),
      TOPICS_SUFFIX: `-${kind}-${path.basename(service.folder)}`,
    };
    await createTopics(['order-placed', 'order-timeout'].map((name) => name + env.TOPICS_SUFFIX));
    const migrated = await service.node([main, 'migrate', '--database', database.url], { within: kind });
    expect(printed(migrated)).toContain('Applied');
    // From its source and as the application's own build makes it.
    for (const config of ['outbox.config.ts', 'built/outbox.config.js']) {
      const announced = await service.node([main, 'migrate', '--topics', '--config', config], {
        env,
        within: kind,
      });
      expect(printed(announced)).toContain('Announced 2 topics to the database.');
    }
    await database.database.query(
      "create table orders (id text primary key, status text not null default 'NEW')",
    );
    const relay = spawn(process.execPath, [main, 'relay'], {
      cwd: path.join(service.folder, kind),
      env: { ...process.env, ...env },
    });
    let said = '';
    relay.stdout.on('data', (data: Buffer) => (said += data.toString()));
    relay.stderr.on('data', (data: Buffer) => (said += data.toString()));
    context.onTestFinished(() => void relay.kill('SIGTERM'));
    await until(() => said.includes('Delivering 2 topics') || relay.exitCode !== null);
    expect(said).toContain('Delivering 2 topics');

    const played = printed(await service.node(['built/shop.js'], { env, within: kind }));

    expect(played).toBe(
      JSON.stringify({
        answer: 'canceled',
        processed: 1,
        refused: 'OUTBOX_PAYLOAD_INVALID',
        timeout: 'canceled',
      }),
    );
  });
});

test('the older module resolution of TypeScript finds every entry point', async () => {
  const names = [
    '',
    '/consumer',
    '/http',
    '/nestjs',
    '/operations',
    '/redis',
    '/relay',
    '/transports',
    '/testing',
    '/workflows',
  ];
  const lines = names.map((name, index) => `import * as a${index} from 'temporal-outbox${name}';`);
  const uses = names.map((_, index) => `a${index}`).join(', ');
  const refused =
    "// @ts-expect-error -- no duration\nexport const wrong: import('temporal-outbox').Duration = 'soon';";
  await writeFile(
    path.join(service.folder, 'entries.ts'),
    `${lines.join('\n')}\nexport default [${uses}];\n${refused}\n`,
  );
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'commonjs', '--skipLibCheck'];
  expect(printed(await service.node(['node_modules/typescript/bin/tsc', ...options, 'entries.ts']))).toBe('');
});

test('a NestJS application sends and consumes, in Jest as NestJS configures it', async (context) => {
  const database = await createTestDatabase();
  context.onTestFinished(() => database.drop());
  const env = { DATABASE_URL: database.url };

  const { code, stderr } = await service.node(['../node_modules/jest/bin/jest.js'], { env, within: 'nest' });

  expect(stderr).toContain('Tests:       7 passed, 7 total');
  expect(code).toBe(0);
});

async function createTopics(names: readonly string[]): Promise<void> {
  const kafka = new Kafka({ brokers: inject('kafkaBrokers').split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: names.map((topic) => ({ topic, numPartitions: 1 })) });
  await admin.disconnect();
  for (const name of names) await untilServed(kafka, name);
}
