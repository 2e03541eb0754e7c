import { type Logger, type LogLine, logLine } from '../config/logger.ts';
import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';
import { explain, type Output } from './output.ts';

/** The log of a command that runs until it is stopped. */
export interface ProcessLog extends Logger {
  readonly info: (facts: object, message: string) => void;
}

/**
 * Writes everything that the process has to say to standard output, in one form.
 *
 * @param component the name of the process in its lines
 * @param asText for people; else one line of JSON each, as with `--json`
 */
export function processLog(component: string, output: Output, asText: boolean): ProcessLog {
  const write = (level: LogLine['level']) => (facts: object, message: string) => {
    const line = logLine(level, { component, ...facts }, message);
    if (output.json) output.value(line);
    else output.line(asText ? inText(line) : JSON.stringify(line));
  };
  return { info: write('info'), warn: write('warn'), error: write('error') };
}

/**
 * Explains the error that ends such a command, as every command does, but with no second object in its log.
 *
 * @param asText as of {@link processLog}
 * @returns its exit code
 */
export function explainEnd(error: unknown, log: ProcessLog, output: Output, asText: boolean): number {
  const code = error instanceof OutboxError ? { code: error.code, next: error.next } : {};
  if (!asText || output.json) log.error({ event: 'ended', ...code }, reasonOf(error));
  return explain(error, { ...output, value: () => undefined });
}

function inText({ time, message, next }: LogLine): string {
  return `${time} ${message}${typeof next === 'string' ? ` ${next}` : ''}`;
}
