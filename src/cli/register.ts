import type { Command } from 'commander';
import { env } from '../config/config.ts';
import { loadConfig } from './load-config.ts';
import { createOutput, explain, type Output } from './output.ts';

/** Adds the commands of one group. Each group is a file of its own, named in `main.ts`. */
export type RegisterCommands = (root: Command) => void;

/** Options that several commands have. */
export interface CommonOptions {
  readonly json?: boolean;
  readonly config?: string;
  readonly database?: string;
}

const configFile = 'outbox.config.ts';

/** The file with the configuration, given or by its usual name. */
export function configOf(options: CommonOptions): string {
  return options.config ?? configFile;
}

/** The address of the database: given, of the environment, or of the configuration. */
export async function databaseUrl(options: CommonOptions): Promise<string> {
  if (options.database !== undefined) return options.database;
  const fromEnvironment = env('DATABASE_URL', '-');
  return fromEnvironment === '-' ? (await loadConfig(configOf(options))).database.url : fromEnvironment;
}

/** Fires when the process is asked to end. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}

/** A command with the option `--json`, which every command has. */
export function addCommand(root: Command, usage: string, description: string): Command {
  return root.command(usage).description(description).option('--json', 'answer with JSON on standard output');
}

/** Adds `--config`, for commands that need the configuration. */
export function withConfig(command: Command): Command {
  return command.option('--config <file>', 'configuration', configFile);
}

/** Adds `--database` and `--config`, for commands that need only the database. */
export function withDatabase(command: Command): Command {
  return withConfig(
    command.option(
      '--database <url>',
      'address of the database (default: DATABASE_URL, then the configuration)',
    ),
  );
}

/** What a command was called with, as its action sees it. */
interface Called<Options> {
  /** What stands beside the options. */
  readonly args: readonly string[];
  opts(): Options;
}

/** Runs a command and turns its answer or error into the exit code. `operands` are what stands beside the options. */
export function run<Options extends CommonOptions>(
  work: (options: Options, output: Output, operands: readonly string[]) => Promise<number>,
): (this: Called<Options>) => Promise<void> {
  return async function runCommand(this: Called<Options>): Promise<void> {
    const options = this.opts();
    const output = createOutput(options.json ?? false);
    process.exitCode = await work(options, output, this.args).catch((error: unknown) =>
      explain(error, output),
    );
  };
}
