import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { OutboxError } from '../../../src/core/errors.ts';
import type { Environment } from '../local-options.ts';

export interface CommandOptions {
  readonly env: Environment;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  readonly signal?: AbortSignal | undefined;
  /** The command is killed after this time. @defaultValue no limit */
  readonly timeoutInMs?: number;
  /** Receives each line of standard output and standard error as it arrives. */
  readonly onLine?: (line: string) => void;
}

const keptCharacters = 64 * 1024;

/**
 * Runs a command to its end.
 *
 * @returns standard output and standard error together, at most the last 64 KiB.
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` when it cannot be run or exits with a code other than 0, with
 * the last lines of the output. The signal's reason when the signal aborts.
 */
export function runCommand(file: string, args: readonly string[], options: CommandOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const { uid, gid, cwd, signal, timeoutInMs } = options;
    const child = spawn(file, args, {
      env: options.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutInMs === undefined ? {} : { timeout: timeoutInMs, killSignal: 'SIGKILL' }),
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output = (output + chunk).slice(-keptCharacters);
      });
      tellLines(stream, options.onLine);
    }
    child.once('error', (error) => {
      // The reason of the caller's signal is more useful than a report that the command was terminated.
      const aborted: unknown = signal?.aborted ? signal.reason : undefined;
      reject(
        aborted instanceof Error
          ? aborted
          : commandFailed(file, args, `did not run: ${error.message}`, error),
      );
    });
    child.once('close', (code, killedBy) => {
      if (code === 0) resolve(output);
      else reject(commandFailed(file, args, `ended with ${killedBy ?? code}.\n${lastLines(output, 15)}`));
    });
  });
}

/** A line may come in several parts. */
function tellLines(stream: Readable, onLine: CommandOptions['onLine']): void {
  if (onLine === undefined) return;
  createInterface({ input: stream }).on('line', (line) => {
    if (line.trim() !== '') onLine(line.trim());
  });
}

function commandFailed(file: string, args: readonly string[], what: string, cause?: unknown): OutboxError {
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `${file} ${what}`, { cause, details: { file, args } });
}

/** The last lines of a text, without trailing blank ones. */
export function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
