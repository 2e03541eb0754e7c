/**
 * Generates the Prisma client of the demo and the tests.
 *
 * Prisma looks for its schema engine first and downloads it where it is missing, though generating does not use it.
 * Naming any program as that engine spares the download, so a build needs no server but the package registry.
 */
import { spawnSync } from 'node:child_process';

const result = spawnSync('npx', ['--no-install', 'prisma', 'generate', '--no-hints'], {
  env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, ...process.env, PRISMA_HIDE_UPDATE_MESSAGE: '1' },
  encoding: 'utf8',
});
if (result.status !== 0) {
  process.stderr.write(`${result.stdout}${result.stderr}`);
  process.exitCode = 1;
}
