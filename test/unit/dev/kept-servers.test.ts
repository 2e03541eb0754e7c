import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { projectName } from '../../../dev/servers/kept-servers.ts';

test('a project is the nearest folder with a package.json, named after the folder and distinct from others of this name', async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'outbox-names-')));
  onTestFinished(() => rm(root, { recursive: true }));
  const folder = async (...names: readonly string[]): Promise<string> => {
    const path = join(root, ...names);
    await mkdir(path, { recursive: true });
    return path;
  };
  const shop = await folder('one', 'My Shop (2)');
  await writeFile(join(shop, 'package.json'), '{}');

  expect(projectName(shop)).toMatch(/^my-shop-2-[0-9a-f]{6}$/);
  expect(projectName(await folder('one', 'My Shop (2)', 'src', 'orders'))).toBe(projectName(shop));
  expect(projectName(await folder('two', 'My Shop (2)'))).not.toBe(projectName(shop));
  expect(projectName(await folder('x'.repeat(100)))).toMatch(/^x{33}-[0-9a-f]{6}$/);
});
