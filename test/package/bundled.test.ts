import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { installsWithinMs, printed, scratchProject } from './scratch-project.ts';

const bundles = ['esbuild.cjs', 'esbuild.mjs', 'tsup.cjs', 'tsup.mjs', 'webpack.cjs', 'webpack.mjs'] as const;

/** What the page says that an ESM bundle needs. */
async function documentedBanner(): Promise<string> {
  const page = await readFile(path.join(import.meta.dirname, '../../docs/versions.md'), 'utf8');
  return /^`(?<banner>import \{ createRequire \}.*)`\.$/m.exec(page)?.groups?.['banner'] ?? '';
}

test('esbuild, tsup and webpack bundle a sender without externals, and the bundles run where nothing is installed', {
  timeout: installsWithinMs,
}, async () => {
  const project = await scratchProject('bundled');
  const elsewhere = await mkdtemp(path.join(tmpdir(), 'temporal-outbox-bundles-'));
  try {
    const errors = printed(await project.node(['bundle.cjs', await documentedBanner()]));
    expect(JSON.parse(errors)).toEqual(Object.fromEntries(bundles.map((name) => [name, []])));

    await cp(path.join(project.folder, 'out'), elsewhere, { recursive: true });
    const ran = await Promise.all(
      bundles.map(async (name) => [name, printed(await project.node([path.join(elsewhere, name)]))]),
    );
    expect(ran).toEqual(bundles.map((name) => [name, 'function\n']));
  } finally {
    await Promise.all([project.remove(), rm(elsewhere, { recursive: true })]);
  }
});
