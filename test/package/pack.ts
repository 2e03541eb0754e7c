import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the package as it would be published. */
    tarball: string;
  }
}

interface Project {
  provide(key: 'tarball', value: string): void;
}

/** A vitest `globalSetup`, behind one that builds: packs what was built. */
export async function setup(project: Project): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'temporal-outbox-packed-'));
  const { stdout } = await promisify(execFile)('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: path.resolve(import.meta.dirname, '../..'),
  });
  project.provide('tarball', path.join(folder, stdout.trim().split('\n').at(-1) ?? ''));
  return () => rm(folder, { recursive: true, force: true });
}
