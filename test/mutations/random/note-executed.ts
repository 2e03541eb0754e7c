/** A setup file of vitest: notes which lines of `src` each test file executes, in the folder that `OUTBOX_EXECUTED` names. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join, relative, resolve } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from 'vitest';
import { executedLines } from './executed-lines.ts';

const root = resolve(import.meta.dirname, '../../..');
const folder = env['OUTBOX_EXECUTED'] ?? '';
const startedAt = performance.now();

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

afterAll(async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const lines: Record<string, readonly number[]> = {};
  await session.post('Debugger.enable');
  for (const { url, scriptId, functions } of result) {
    const path = relative(root, url.startsWith('file:') ? fileURLToPath(url) : url);
    if (!path.startsWith('src/')) continue;
    const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
    const executed = executedLines(scriptSource, functions);
    if (executed.length > 0) lines[path] = executed;
  }
  session.disconnect();
  const test = relative(root, expect.getState().testPath ?? '');
  mkdirSync(folder, { recursive: true });
  const name = createHash('sha256').update(test).digest('hex').slice(0, 16);
  const ms = Math.round(performance.now() - startedAt);
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ test, ms, lines }));
});
