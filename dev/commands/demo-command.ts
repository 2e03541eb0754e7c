import { exitCodes, type Output } from '../../src/cli/output.ts';
import { requirePackages } from '../../src/core/packages.ts';
import type { playDemo } from '../demo/play-demo.ts';
import type { Environment } from '../servers/index.ts';

export interface DemoCommandFlags {
  readonly env: Environment;
  readonly keep: boolean;
  readonly signal: AbortSignal;
}

/** Plays the demo. With `--json` the story goes to standard error, so that standard output contains only the figures. */
export async function demoCommand(flags: DemoCommandFlags, output: Output): Promise<number> {
  const play = await loadDemo();
  const tell = (line: string): void => (output.json ? output.trouble(line) : output.line(line));
  const figures = await play({ ...flags, tell }).catch((error: unknown) => {
    if (!flags.signal.aborted) throw error;
    return undefined;
  });
  if (figures === undefined) {
    output.trouble('The demo was stopped before its end.');
    output.value({ ok: false, message: 'The demo was stopped before its end.' });
    return exitCodes.failed;
  }
  output.value(figures);
  return figures.ok ? exitCodes.ok : exitCodes.failed;
}

/** Loaded on demand: only the demo needs Prisma, which is not a dependency of this package. */
async function loadDemo(): Promise<typeof playDemo> {
  for (const part of ['temporal', 'kafka', 'demo'] as const) requirePackages(part);
  return (await import('../demo/play-demo.ts')).playDemo;
}
