import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CliProcess } from '../fixtures/cli-process.ts';
import { builtProgram } from './built-program.ts';

export interface PatientConsumerSettings {
  readonly url: string;
  readonly brokers: string;
  readonly address: string;
  readonly group: string;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Starts a consumer as a child process, which says `ready` when it has joined; it ends with the test. */
export function startPatientConsumer(
  context: { readonly onTestFinished: (work: () => Promise<void>) => void },
  settings: PatientConsumerSettings,
): CliProcess {
  const child = spawn(process.execPath, [builtProgram('patient-consumer-main'), JSON.stringify(settings)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
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
