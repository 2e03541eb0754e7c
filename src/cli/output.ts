import { OutboxError, type OutboxErrorCode } from '../core/errors.ts';
import { codeTextOf, reasonOf } from '../core/reason.ts';
import { currentHost } from './host.ts';
import { printable } from './printable.ts';
import { type Flag, saidOfFlags } from './said-flags.ts';

/** Exit codes of every command. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, unreachable: 3, partial: 4, broken: 5 } as const;

/** What each says, for the help. */
export const exitMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: 'done',
  failed: 'failed',
  usage: 'usage',
  unreachable: 'a server does not answer or refuses',
  partial: 'partly done',
  broken: 'a promise is broken',
};

/** Where a command writes: text or one JSON object to standard output, errors to standard error. */
export interface Output {
  readonly json: boolean;
  line(text: string): void;
  value(value: unknown): void;
  trouble(text: string): void;
}

export function createOutput(json: boolean): Output {
  const { stderr, stdout } = currentHost();
  return {
    json,
    line: (text) => {
      if (!json) stdout.write(`${text}\n`);
    },
    value: (value) => {
      if (json) stdout.write(`${JSON.stringify(value)}\n`);
    },
    trouble: (text) => void stderr.write(`${text}\n`),
  };
}

/** Arguments and flags of a command. */
interface Called<Options> {
  /** Positional arguments. */
  readonly args: readonly string[];
  readonly options: readonly Flag[];
  opts(): Options;
}

/** Runs a command and turns its answer or error into the exit code. `operands` are the positional arguments. */
export function run<Options extends { readonly json?: boolean }>(
  work: (flags: Options, output: Output, operands: readonly string[]) => Promise<number>,
): (this: Called<Options>) => Promise<void> {
  return async function runCommand(this: Called<Options>): Promise<void> {
    const flags = this.opts();
    const output = createOutput(flags.json ?? false);
    currentHost().exitCode = await work(flags, output, this.args).catch((error: unknown) =>
      explain(saidOfFlags(error, this.options), output),
    );
  };
}

/** Prints what went wrong and what to do. @returns the exit code */
export function explain(error: unknown, output: Output): number {
  if (error instanceof OutboxError) {
    output.trouble(`${error.code}: ${inLines(error.message)}\n  Next: ${inLines(error.next)}`);
    output.value({
      ok: false,
      code: error.code,
      message: error.message,
      next: error.next,
      details: error.details,
    });
    return exitCodeOf(error);
  }
  const message = reasonOf(error);
  output.trouble(inLines(message));
  output.value({ ok: false, message });
  return isRefused(error) ? exitCodes.unreachable : exitCodes.failed;
}

/** Errors quote names that anybody may have chosen; some have several lines. */
function inLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

const unreachable: ReadonlySet<OutboxErrorCode> = new Set([
  'OUTBOX_CONNECTIONS_EXHAUSTED',
  'OUTBOX_SERVER_REFUSED',
  'OUTBOX_SERVER_UNAVAILABLE',
  'OUTBOX_TLS_FAILED',
]);

const usage: ReadonlySet<OutboxErrorCode> = new Set([
  'OUTBOX_COMMAND_INVALID',
  'OUTBOX_CONFIG_FILE_MISSING',
  'OUTBOX_GROUP_UNKNOWN',
  'OUTBOX_ID_INVALID',
  'OUTBOX_OPTION_INVALID',
  'OUTBOX_SCHEDULE_UNKNOWN',
  'OUTBOX_TOPIC_UNKNOWN',
  'OUTBOX_TRANSPORT_UNKNOWN',
]);

function exitCodeOf({ code }: OutboxError): number {
  if (unreachable.has(code)) return exitCodes.unreachable;
  return usage.has(code) ? exitCodes.usage : exitCodes.failed;
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && ['ECONNREFUSED', 'ENOTFOUND', 'ETIMEDOUT'].includes(codeTextOf(error));
}
