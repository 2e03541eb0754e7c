import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);

/** Stands in for the build, which takes half a minute: it leaves one file. */
const build = `import { mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('dist/src', { recursive: true });
writeFileSync('dist/src/index.js', '');
`;

test('what npm packs in a clone has been built before, and has nothing that building an example leaves behind', {}, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-packed-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await copyFile(path.resolve(import.meta.dirname, '../../package.json'), path.join(folder, 'package.json'));
  const left = ['generated/client.ts', 'target/classes/Main.class', 'node_modules/pg/index.js'].map(
    (file) => `examples/shop/${file}`,
  );
  for (const file of ['examples/shop/main.ts', ...left]) {
    await mkdir(path.join(folder, path.dirname(file)), { recursive: true });
    await writeFile(path.join(folder, file), '');
  }
  await mkdir(path.join(folder, 'tools'));
  await writeFile(path.join(folder, 'tools/build.mjs'), build);

  const { stdout } = await run('npm', ['pack', '--dry-run', '--json'], { cwd: folder });

  const [packed] = JSON.parse(stdout) as readonly { readonly files: readonly { readonly path: string }[] }[];
  const files = packed?.files.map((file) => file.path) ?? [];
  expect(files).toEqual(expect.arrayContaining(['dist/src/index.js', 'examples/shop/main.ts']));
  expect(files.filter((file) => left.includes(file))).toEqual([]);
});
