import { cp, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createEmptyDatabase, createTestDatabase } from '../support/fixtures/database.ts';
import { installsWithinMs, printed, type ScratchProject, scratchProject } from './scratch-project.ts';

const projects: ScratchProject[] = [];
afterAll(() => Promise.all(projects.map((project) => project.remove())));

const repository = path.resolve(import.meta.dirname, '../..');

/** Prisma 7 comes with the command of this repository; that of 6 generates another client. */
const versions = [
  {
    version: 7,
    project: 'prisma-7',
    command: path.join(repository, 'node_modules/prisma/build/index.js'),
    client: 'client',
  },
  { version: 6, project: 'prisma-6', command: '../node_modules/prisma/build/index.js', client: 'index' },
];

test.each(versions)(
  'with Prisma $version, plain clients, extended ones and those with replicas send in their transactions',
  { timeout: installsWithinMs },
  async ({ version, project: name, command, client }) => {
    const project = await scratchProject(name);
    projects.push(project);
    const folder = path.join(project.folder, 'clients');
    await cp(path.join(import.meta.dirname, 'projects/clients'), folder, { recursive: true });
    await rename(path.join(folder, `prisma-${version}.prisma`), path.join(folder, 'schema.prisma'));
    const schema = await readFile(path.join(folder, 'schema.prisma'), 'utf8');
    await writeFile(
      path.join(folder, 'mysql.prisma'),
      schema.replace('"postgresql"', '"mysql"').replace('./generated', './generated-mysql'),
    );
    await writeFile(
      path.join(folder, 'prisma-client.ts'),
      `export { PrismaClient } from './generated/${client}.js';
export { PrismaClient as MySqlClient } from './generated-mysql/${client}.js';\n`,
    );
    const database = await createTestDatabase();
    const replica = await createEmptyDatabase();
    await database.database.query(
      "create table orders (id text primary key, status text not null default 'NEW')",
    );
    const env = {
      DATABASE_URL: database.url,
      REPLICA_URL: replica.url,
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      // Prisma 6 looks for this one as well, though its clients are generated to do without.
      PRISMA_QUERY_ENGINE_LIBRARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
    };
    const inside = { env, within: 'clients' };
    for (const file of ['schema.prisma', 'mysql.prisma']) {
      const generate = [command, 'generate', '--no-hints', '--schema', file];
      expect(printed(await project.node(generate, inside))).toContain('Generated');
    }
    expect(printed(await project.node(['../node_modules/typescript/bin/tsc', '-p', '.'], inside))).toBe('');

    const played = printed(await project.node(['clients.js'], inside));

    expect(JSON.parse(played)).toEqual({
      sent: ['ready', 'ready', 'ready'],
      serializable: ['serializable', 'rescheduled', 'canceled'],
      rolledBack: 'changed my mind',
      roots: Array.from({ length: 3 }, () => 'OUTBOX_NOT_IN_TRANSACTION'),
      missing: [
        'OUTBOX_MIGRATION_MISSING',
        'OUTBOX_MIGRATION_MISSING',
        expect.stringContaining('"lost_orders" does not exist'),
      ],
      stored: 6,
      nudged: true,
    });
    const refused: readonly string[] = JSON.parse(printed(await project.node(['foreign.js'], inside)));
    expect(refused).toHaveLength(10);
    for (const said of refused) expect(said).toMatch(/^OUTBOX_CLIENT_UNFIT: .*mysql.*PostgreSQL/);
    await Promise.all([database.drop(), replica.drop()]);
  },
);
