import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMigrations } from '../../src/store/migrate.ts';
import { packageRoot } from '../../src/store/package-root.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { dumpSchema } from '../support/schema-dump.ts';

// Goes with the fold-in: shows that the one baseline makes what the many migrations made.

/** A commit that has the many migrations. */
const before = process.env['BASELINE_BEFORE'] ?? 'c182d85';

const execute = promisify(execFile);
let old: TestDatabase;
let baseline: TestDatabase;

beforeAll(async () => {
  [old, baseline] = await Promise.all([createEmptyDatabase(), createEmptyDatabase()]);
  for (const sql of await oldMigrations()) await old.database.transaction((tx) => tx.query(sql));
  for (const { sql } of await readMigrations()) await baseline.database.transaction((tx) => tx.query(sql));
});

afterAll(() => Promise.all([old.drop(), baseline.drop()]));

async function git(...args: readonly string[]): Promise<string> {
  const { stdout } = await execute('git', args, { cwd: packageRoot(), maxBuffer: 1 << 26 }).catch(
    (error: unknown) => {
      // `git diff --no-index` answers 1 when there is a difference.
      if (error instanceof Error && 'code' in error && error.code === 1 && 'stdout' in error)
        return { stdout: String(error.stdout) };
      throw error;
    },
  );
  return stdout;
}

async function oldMigrations(): Promise<readonly string[]> {
  const names = (await git('ls-tree', '-r', '--name-only', before, 'prisma/migrations'))
    .split('\n')
    .filter((name) => name.endsWith('.sql'));
  return Promise.all(names.toSorted().map((name) => git('show', `${before}:${name}`)));
}

test('the baseline makes what the migrations made, but for what is meant', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'baseline-'));
  const files = [path.join(folder, 'old'), path.join(folder, 'new')] as const;
  await writeFile(files[0], await dumpSchema(old.database));
  await writeFile(files[1], await dumpSchema(baseline.database));
  const difference = await git('diff', '--no-index', '--no-color', '--unified=1', ...files);
  await rm(folder, { recursive: true });
  const lines = difference.split('\n').filter((line) => !/^(diff|index|---|\+\+\+) /.test(line));
  await expect(lines.join('\n').replaceAll(/^@@.*?@@/gm, '@@')).toMatchFileSnapshot('baseline-proof.diff');
});

test('both begin with the same rows', async () => {
  const rows = `select array(select format('%s %s %s', e.epoch, e.ended_at, e.tries) from outbox.processed_epoch e) as epochs,
    (select count(*) from outbox.installation) as installations, (select count(*) from outbox.message) as messages`;
  expect(await baseline.database.query(rows)).toEqual(await old.database.query(rows));
});
