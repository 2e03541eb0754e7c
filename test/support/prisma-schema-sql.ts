import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import { SchemaEngine, __wbg_set_wasm } from '@prisma/schema-engine-wasm/schema_engine_bg';
import { packageRoot } from '../../src/store/package-root.ts';

/** As much of WebAssembly as is needed here; its types come with those of browsers. */
interface WebAssemblyLoader {
  instantiate(
    bytes: Uint8Array,
    imports: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly instance: { readonly exports: Readonly<Record<string, unknown>> } }>;
}

/**
 * The SQL that Prisma would run to make the tables of the models under `prisma/`.
 *
 * Views are written as tables of the same columns, because Prisma makes no views.
 *
 * @param url a database of the server that the SQL is for; nothing is written to it
 */
export async function prismaSchemaSql(url: string): Promise<string> {
  await loadEngine();
  const files = await readModels();
  const datamodels = files.map(({ path: name, content }): [string, string] => [name, content]);
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: url }));
  const engine = await SchemaEngine.new({ datamodels }, () => undefined, adapter);
  const { stdout } = await engine.diff({
    exitCode: null,
    filters: { externalEnums: [], externalTables: [] },
    from: { tag: 'empty' },
    script: true,
    to: { tag: 'schemaDatamodel', files },
  });
  return stdout ?? '';
}

async function readModels(): Promise<{ path: string; content: string }[]> {
  const folder = path.join(packageRoot(), 'prisma');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.prisma'));
  return Promise.all(
    names.map(async (name) => ({
      path: name,
      content: (await readFile(path.join(folder, name), 'utf8')).replaceAll(/^view /gm, 'model '),
    })),
  );
}

/** The package is made for bundlers, which load WebAssembly by an import; Node does it by hand. */
async function loadEngine(): Promise<void> {
  const glue = import.meta.resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const imports = { './schema_engine_bg.js': await import(glue) };
  const bytes = await readFile(new URL('schema_engine_bg.wasm', glue));
  const { WebAssembly } = globalThis as typeof globalThis & { readonly WebAssembly: WebAssemblyLoader };
  const { instance } = await WebAssembly.instantiate(bytes, imports);
  const { __wbindgen_start: start } = instance.exports;
  __wbg_set_wasm(instance.exports);
  if (isStart(start)) start();
}

function isStart(value: unknown): value is () => void {
  return typeof value === 'function';
}
