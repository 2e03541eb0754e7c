import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';

const program = path.resolve(
  import.meta.dirname,
  '../../../dist/test/support/processes/schema-engine-main.js',
);

/** Writes a program that Prisma's commands run, by `PRISMA_SCHEMA_ENGINE_BINARY`, in place of the engine that they would download. */
export async function writeSchemaEngine(folder: string): Promise<string> {
  const file = path.join(folder, 'schema-engine');
  await writeFile(file, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  await chmod(file, 0o755);
  return file;
}
