import type { Output } from '../../src/cli/output.ts';
import type { CliEnd } from './cli.ts';

/** Runs a command in this process, without a terminal, and answers what it wrote as text. */
export async function written(command: (output: Output) => Promise<number>): Promise<CliEnd> {
  const lines = { stdout: '', stderr: '' };
  const code = await command({
    json: false,
    line: (text) => void (lines.stdout += `${text}\n`),
    value: () => undefined,
    trouble: (text) => void (lines.stderr += `${text}\n`),
  });
  return { code, ...lines };
}
