import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { inject } from 'vitest';
import { createEmptyDatabase } from '../support/fixtures/database.ts';

const folder = path.resolve(import.meta.dirname, '../../examples');

/** A folder of `examples`. */
export interface Example {
  readonly name: string;
  readonly folder: string;
  /** The commands in its `package.json`. */
  readonly scripts: Readonly<Record<string, string>>;
}

/** How a command ended. */
interface Ended {
  readonly code: number;
  /** What it wrote to stdout, then what it wrote to stderr. */
  readonly output: string;
  /** The last line of its stdout. */
  readonly result: string;
}

/** All examples, in the order of their names. */
export const examples: readonly Example[] = readdirSync(folder)
  .filter((name) => name !== 'node_modules' && existsSync(path.join(folder, name, 'package.json')))
  .map((name) => {
    const own = path.join(folder, name);
    const { scripts = {} }: { scripts?: Record<string, string> } = JSON.parse(
      readFileSync(path.join(own, 'package.json'), 'utf8'),
    );
    return { name, folder: own, scripts };
  });

/** Runs `npm run <script>` in the folder of an example, with a database of its own on the servers of the test run, and more variables. */
export async function runScript(
  example: Example,
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const { drop, url } = await createEmptyDatabase();
  try {
    return await execute('npm', ['run', '--silent', script], example.folder, {
      DATABASE_URL: url,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      KAFKA_BROKERS: inject('kafkaBrokers'),
      ...env,
    });
  } finally {
    await drop();
  }
}

/** Compiles all examples, after their clients have been generated; answers what the compiler says, which is nothing. */
export async function compile(): Promise<string> {
  return (await execute(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], folder, {})).output;
}

function execute(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const { NODE_OPTIONS: _options, VITEST: _vitest, ...own } = process.env;
  const given = {
    ...own,
    ...env,
    NODE_ENV: 'development',
    PRISMA_SCHEMA_ENGINE_BINARY: inject('schemaEngine'),
    TEMPORAL_TEST_SERVER: inject('timeSkippingServer'),
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
  };
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      { cwd, env: given, timeout: 240_000, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : 1;
        const result = stdout.trim().split('\n').at(-1) ?? '';
        resolve({ code: error === null ? 0 : code, output: stdout + stderr, result });
      },
    );
  });
}
