import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const main = path.join(root, 'dist/src/cli/main.js');

/** A command that runs until it is ended. */
export interface CliProcess {
  /** What it has written so far. */
  readonly stderr: () => string;
  readonly stdout: () => string;
  /** Resolves with its exit code. */
  readonly exited: Promise<number | null>;
  signal(name: NodeJS.Signals): void;
}

/** Starts the command line as it is built; it ends with the test. */
export function startCli(
  context: { readonly onTestFinished: (work: () => Promise<void>) => void },
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): CliProcess {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const written = { stdout: '', stderr: '' };
  child.stdout.on('data', (data: Buffer) => (written.stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (written.stderr += data.toString()));
  const exited = once(child, 'exit').then(() => child.exitCode);
  context.onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return {
    stderr: () => written.stderr,
    stdout: () => written.stdout,
    exited,
    signal: (name) => void child.kill(name),
  };
}

/** A folder with an `outbox.config.ts` of one topic, `orders`, whose transport prints; it ends with the test. */
export async function configFile(
  context: { readonly onTestFinished: (work: () => Promise<void>) => void },
  { url, temporal }: { readonly url: string; readonly temporal: string },
): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-config-'));
  context.onTestFinished(() => rm(folder, { recursive: true }));
  const source = path.join(root, 'dist/src');
  await writeFile(
    path.join(folder, 'outbox.config.ts'),
    `import { defineConfig, topic } from '${source}/index.js';
import { print } from '${source}/transports.js';
import { z } from '${path.join(root, 'node_modules/zod')}';
export default defineConfig({
  database: { url: ${JSON.stringify(url)} },
  temporal: { address: ${JSON.stringify(temporal)} },
  topics: [topic('orders', z.unknown())],
  transports: { print: print() },
});
`,
  );
  return path.join(folder, 'outbox.config.ts');
}
