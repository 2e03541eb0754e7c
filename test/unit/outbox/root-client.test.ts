import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

// On a busy machine the compiler takes minutes.
vi.setConfig({ testTimeout: 300_000 });

const root = path.resolve(import.meta.dirname, '../../..');
let folder: string;

beforeAll(async () => {
  // Inside the project, where the packages are found.
  folder = await mkdtemp(path.join(root, 'node_modules', '.type-test-'));
});

afterAll(() => rm(folder, { recursive: true }));

const setting = `
import { send, type Topic } from '../../src/index.ts';
interface Client {
  $connect(): Promise<void>;
  $transaction<R>(work: (tx: Omit<Client, '$connect' | '$transaction'>) => Promise<R>): Promise<R>;
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): PromiseLike<T>;
}
declare const prisma: Client;
declare const orders: Topic<string>;
`;

/** What the compiler says of the statement. */
async function compile(statement: string): Promise<string> {
  await writeFile(path.join(folder, 'call.ts'), `${setting}${statement}\n`);
  await writeFile(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: { types: ['node'] },
      include: ['call.ts'],
    }),
  );
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  const run = promisify(execFile)(tsc, ['-p', folder, '--pretty', 'false']);
  return run.then(
    ({ stdout }) => stdout,
    (failure: { stdout: string }) => failure.stdout,
  );
}

test('a send with the client fails to compile, and the error names what to pass instead; with the transaction it compiles', async () => {
  const said = await compile(
    `void prisma.$transaction((tx) => send(tx, orders, 'x'));\nvoid send(prisma, orders, 'x');`,
  );
  const wrong = setting.split('\n').length + 1;
  expect([...said.matchAll(/call\.ts\((\d+),/g)].map(([, line]) => Number(line))).toEqual([wrong]);
  expect(said).toContain(
    'Pass the tx of prisma.$transaction(async (tx) => …) instead of the client: outside a transaction a message would survive a rollback.',
  );
});
