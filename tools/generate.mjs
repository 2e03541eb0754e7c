/**
 * Generates the Prisma clients of the demo and the tests, of the shop and of the tables of the outbox, and the schemas of the answers
 * of the HTTP API.
 *
 * Prisma first looks for its schema engine and downloads it if missing, though generating does not use it. Naming any
 * program as that engine avoids the download, so a build needs no server except the package registry.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { writeAnswerSchemas } from './answer-schemas.mjs';

const env = {
  PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
  ...process.env,
  PRISMA_HIDE_UPDATE_MESSAGE: '1',
};

async function generate(schema) {
  const args = ['--no-install', 'prisma', 'generate', '--no-hints', '--schema', schema];
  const child = spawn('npx', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (child.exitCode === 0) return;
  process.stderr.write(`${stdout}${stderr}`);
  process.exitCode = 1;
}

writeAnswerSchemas();
await Promise.all(['prisma/shop.prisma', 'prisma/outbox.prisma'].map(generate));
