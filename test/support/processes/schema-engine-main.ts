import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import type { SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { reasonOf } from '../../../src/core/reason.ts';
import { withEngine } from '../fixtures/prisma-engine.ts';

/*
 * Stands in for the binary behind `prisma db push` and `prisma migrate`, which Prisma downloads from a host that is not a
 * package registry. It is the same engine, from the registry; here it only speaks the binary's protocol.
 */

interface Request {
  readonly id: number;
  readonly method: string;
  readonly params?: unknown;
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  strict: false,
  options: { datamodels: { type: 'string', multiple: true }, datasource: { type: 'string' } },
});
const { url = '' }: { url?: string } = JSON.parse(String(values.datasource ?? '{}'));

if (positionals[0] === 'cli') await connect(url);
else await serve();

/** `cli can-connect-to-database`: reports by the exit code, and by a line of its log. */
async function connect(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
    await client.end();
  } catch (error) {
    const fields = { error_code: 'P1001', message: reasonOf(error) };
    console.error(JSON.stringify({ level: 'ERROR', target: 'schema_engine::logger', fields }));
    process.exitCode = 1;
  }
}

/** One request and one answer per line, until the input ends. */
async function serve(): Promise<void> {
  const names = Array.isArray(values.datamodels) ? values.datamodels.map(String) : [];
  const files = await Promise.all(
    names.map(async (name) => ({ path: path.resolve(name), content: await readFile(name, 'utf8') })),
  );
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params }: Request = JSON.parse(line);
    const answer = await withEngine(url, files, (engine) => call(engine, method, params)).then(
      (result) => ({ result: result ?? null }),
      (error: unknown) => ({
        error: { code: 4466, message: reasonOf(error), data: { message: reasonOf(error) } },
      }),
    );
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }
}

/** Methods of the protocol are methods of the engine, by the same names and with the same input. */
async function call(engine: SchemaEngine, method: string, params: unknown): Promise<unknown> {
  const work: unknown = Reflect.get(engine, method);
  if (typeof work !== 'function') throw new Error(`The engine has no ${method}.`);
  return Reflect.apply(work, engine, [params]);
}
