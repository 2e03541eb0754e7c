import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createEmptyDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { PrismaProject } from '../../support/fixtures/prisma-project.ts';
import { until } from '../../support/fixtures/until.ts';
import { ReadmeProject } from '../../support/processes/readme-project.ts';

let database: TestDatabase;
let project: ReadmeProject;
beforeAll(async () => {
  database = await createEmptyDatabase();
  project = await ReadmeProject.create({
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
  });
});
afterAll(async () => {
  await project.remove();
  await database.drop();
});

test('the program of README compiles and does what README says', { timeout: 180_000 }, async () => {
  expect(await project.build()).toBe('');
  const script = project.blocks.find(({ text }) => text.includes('npx prisma'));
  const lines = (script?.text ?? '').split('\n').flatMap((line) => line.replace(/ +#.*/, '') || []);
  expect(lines.slice(1, 3)).toEqual([
    'npx temporal-outbox servers',
    'npx prisma generate && npx prisma db push',
  ]);
  const schema = { path: 'schema.prisma', content: project.schema };
  expect(await new PrismaProject(database.url, [schema]).dbPush()).toMatchObject({ unexecutable: [] });
  const [migrate = '', run = ''] = lines.slice(3);
  const migrated = project.start(migrate);
  expect(await migrated.exited, migrated.said()).toBe(0);

  const program = project.start(run);
  const orders = () =>
    database.database.query<{ id: string; status: string }>('select id, status from "Order"');
  await until(async () => {
    const [order] = await orders();
    return order?.status === 'CANCELED' && program.said().includes(`order ${order.id} was placed`);
  }, 60_000).catch((cause: unknown) => {
    throw new Error(`Not everything was handled.\n${program.said()}`, { cause });
  });

  expect(await orders()).toHaveLength(1);
  expect(program.said()).toMatch(/^order \S+ was placed\n$/);
});
