import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { installsWithinMs, printed, scratchProject } from './scratch-project.ts';

test('esbuild and webpack bundle a sender without externals, and the bundle runs where nothing is installed', {
  timeout: installsWithinMs,
}, async () => {
  const project = await scratchProject('bundled');
  const elsewhere = await mkdtemp(path.join(tmpdir(), 'temporal-outbox-bundles-'));
  try {
    expect(JSON.parse(printed(await project.node(['bundle.cjs'])))).toEqual({ esbuild: [], webpack: [] });

    await cp(path.join(project.folder, 'out'), elsewhere, { recursive: true });
    for (const name of ['esbuild.cjs', 'webpack.cjs'])
      expect(printed(await project.node([path.join(elsewhere, name)])), name).toBe('function\n');
  } finally {
    await Promise.all([project.remove(), rm(elsewhere, { recursive: true })]);
  }
});
