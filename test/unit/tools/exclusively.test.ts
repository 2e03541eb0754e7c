import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

/** Notes when it begins and ends, with a pause between the two. */
const program = `
  import { appendFileSync } from 'node:fs';
  import { exclusively } from ${JSON.stringify(join(import.meta.dirname, '../../../tools/exclusively.mjs'))};
  exclusively('lock', () => {
    appendFileSync('log', 'begin ');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    appendFileSync('log', 'end ');
  });
`;

test('only one of several processes has the lock at a time, even after one died with it', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'exclusively-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const dead = spawnSync(process.execPath, ['--version']).pid;
  await symlink(String(dead), join(cwd, 'lock'));

  const run = promisify(execFile);
  await Promise.all(
    Array.from({ length: 4 }, () => run(process.execPath, ['--input-type=module', '-e', program], { cwd })),
  );

  expect(await readFile(join(cwd, 'log'), 'utf8')).toBe('begin end '.repeat(4));
  expect(await readdir(cwd)).toEqual(['log']);
});
