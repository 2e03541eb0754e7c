import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { timeSkippingServer } from '../../dev/servers/index.ts';
import { writeSchemaEngine } from '../support/processes/schema-engine.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A program that Prisma's commands run in place of the engine that they would download. */
    schemaEngine: string;
    /** Temporal's server that skips time. */
    timeSkippingServer: string;
  }
}

interface Project {
  provide(key: 'schemaEngine' | 'timeSkippingServer', value: string): void;
}

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');
const examples = path.join(root, 'examples');

/** A vitest `globalSetup`, behind one that builds: installs the packages of the examples, with the product as packed. */
export async function setup(project: Project): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'temporal-outbox-examples-'));
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', examples], { cwd: root });
  const packed = path.join(examples, stdout.trim().split('\n').at(-1) ?? '');
  await rename(packed, path.join(examples, 'temporal-outbox.tgz'));
  await run(
    'npm',
    ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: examples,
    },
  );
  project.provide('schemaEngine', await writeSchemaEngine(folder));
  project.provide('timeSkippingServer', await timeSkippingServer({ env: process.env }));
  return () => rm(folder, { recursive: true, force: true });
}
