import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQuery,
} from '@prisma/driver-adapter-utils';
import { SchemaEngine, __wbg_set_wasm } from '@prisma/schema-engine-wasm/schema_engine_bg';
import { openDatabase } from '../../src/store/pool.ts';

/** A schema file, as Prisma reads it. */
export interface SchemaFile {
  readonly path: string;
  readonly content: string;
}

/** As much of WebAssembly as is needed here; its types come with those of browsers. */
interface WebAssemblyLoader {
  instantiate(
    bytes: Uint8Array,
    imports: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly instance: { readonly exports: Readonly<Record<string, unknown>> } }>;
}

/** An adapter with what it does not show: its pool, and the answers of that. */
interface OpenAdapter extends SqlDriverAdapter {
  performIO(query: SqlQuery): Promise<{ readonly fields?: { readonly name: string; dataTypeID: number }[] }>;
  readonly client: { query(text: string): Promise<unknown> };
}

let loaded: Promise<void> | undefined;

/**
 * Has work done by the engine behind `prisma migrate` and `prisma db`, on a database. It is the one of the package
 * registry, made of the same source as the program that Prisma downloads. Its shadow databases are made on the same server.
 */
export async function withEngine<Result>(
  url: string,
  files: readonly SchemaFile[],
  work: (engine: SchemaEngine) => Promise<Result>,
): Promise<Result> {
  await (loaded ??= loadEngine());
  const opened: SqlDriverAdapter[] = [];
  const factory: SqlMigrationAwareDriverAdapterFactory = {
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect: async () => {
      const adapter = await connect(url);
      opened.push(adapter);
      return adapter;
    },
    connectToShadowDb: () => connectToShadow(url),
  };
  const datamodels = files.map(({ path, content }): [string, string] => [path, content]);
  const bound = bindMigrationAwareSqlAdapterFactory(factory);
  try {
    return await work(await SchemaEngine.new({ datamodels }, () => undefined, bound));
  } finally {
    // The engine leaves them open, and on one of them its lock, for which the next command would wait.
    await Promise.all(opened.map((adapter) => adapter.dispose()));
  }
}

/** The adapter lacks what an engine for migrations needs: the type "char" of the catalog, and scripts with bodies of functions. */
async function connect(url: string): Promise<SqlDriverAdapter> {
  const adapter: SqlDriverAdapter = await new PrismaPg({ connectionString: url, max: 2 }).connect();
  if (!isOpen(adapter)) throw new Error('The adapter of Prisma has changed.');
  const chars = new Set<string>();
  const performIO = adapter.performIO.bind(adapter);
  const queryRaw = adapter.queryRaw.bind(adapter);
  return Object.assign(adapter, {
    performIO: async (query: SqlQuery) => {
      const result = await performIO(query);
      for (const field of result.fields ?? []) {
        if (field.dataTypeID !== charType) continue;
        field.dataTypeID = textType;
        chars.add(field.name);
      }
      return result;
    },
    queryRaw: async (query: SqlQuery) => {
      const result = await queryRaw(query);
      for (const [column, name] of result.columnNames.entries()) {
        if (!chars.has(name) || result.columnTypes[column] !== ColumnTypeEnum.Text) continue;
        result.columnTypes[column] = ColumnTypeEnum.Character;
        for (const row of result.rows) row[column] = row[column] === '' ? null : row[column];
      }
      return result;
    },
    executeScript: async (script: string) => void (await adapter.client.query(script)),
  });
}

/** Numbers of PostgreSQL. */
const charType = 18;
const textType = 25;

function isOpen(adapter: SqlDriverAdapter): adapter is OpenAdapter {
  return 'performIO' in adapter && 'client' in adapter;
}

async function connectToShadow(url: string): Promise<SqlDriverAdapter> {
  const name = `shadow_${randomUUID().replaceAll('-', '')}`;
  const admin = openDatabase({ url, connections: 1 });
  await admin.query(`create database ${name}`);
  const shadow = new URL(url);
  shadow.pathname = `/${name}`;
  const adapter = await connect(shadow.href);
  const dispose = adapter.dispose.bind(adapter);
  return Object.assign(adapter, {
    dispose: async () => {
      await dispose();
      await admin.query(`drop database ${name} with (force)`);
      await admin.close();
    },
  });
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
