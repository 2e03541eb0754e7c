import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { type DatabaseAddress, databaseOf, isDatabaseUrl } from '../config/database-config.ts';
import { environment } from '../config/env.ts';
import { OutboxError } from '../core/errors.ts';
import { loadConfig } from './load-config.ts';
import { createOutput, explain, type Output } from './output.ts';

/** Adds the commands of one group. Each group is a separate file, listed in `main.ts`. */
export type RegisterCommands = (root: Command) => void;

/** Flags that several commands have. */
export interface CommonFlags {
  readonly json?: boolean;
  readonly config?: string;
  readonly database?: string;
}

const configFile = 'outbox.config.ts';
/** Where the configuration is looked for, in this order. */
const configFiles = [configFile, 'outbox.config.js', 'src/outbox.config.ts', 'src/outbox.config.js'];

/** The configuration file: as given, else the first that exists of the usual ones. */
export function configOf(flags: CommonFlags): string {
  return flags.config ?? configFiles.find((file) => existsSync(file)) ?? configFile;
}

/**
 * Address of the database: from `--database`, else from the configuration, which may have certificates and credentials, too,
 * else from `DATABASE_URL`.
 */
export async function databaseAddress(flags: CommonFlags): Promise<DatabaseAddress> {
  if (flags.database !== undefined) return { url: addressIn('--database', flags.database) };
  const file = configOf(flags);
  const url = environment('DATABASE_URL');
  const given = (text: string): DatabaseAddress => ({ url: addressIn('DATABASE_URL', text) });
  if (url !== undefined && file === configFile && !existsSync(file)) return given(url);
  const { database } = await loadConfig(file);
  if (database !== undefined) return databaseOf(database);
  if (url !== undefined) return given(url);
  throw new OutboxError(
    'OUTBOX_CONFIG_MISSING',
    'This command needs a database: give --database, the setting "database" of the configuration, or DATABASE_URL.',
    { details: { setting: 'database' } },
  );
}

/** The error does not repeat another text, which may contain a password. */
function addressIn(source: string, text: string): string {
  if (isDatabaseUrl(text)) return text;
  throw new OutboxError(
    'OUTBOX_COMMAND_INVALID',
    `${source} is not a URL of PostgreSQL: postgresql://user:password@host:port/database.`,
    { details: { source } },
  );
}

/** Fires on SIGINT or SIGTERM. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}

/** A command with the option `--json`, which every command has. */
export function addCommand(root: Command, usage: string, description: string): Command {
  return root.command(usage).description(description).option('--json', 'write JSON to standard output');
}

/** Adds `--config`, for commands that need the configuration. */
export function withConfig(command: Command): Command {
  return command.option(
    '--config <file>',
    'configuration (default: outbox.config.ts or outbox.config.js, here or in src)',
  );
}

/** Adds `--database` and `--config`, for commands that need only the database. */
export function withDatabase(command: Command): Command {
  return withConfig(
    command.option(
      '--database <url>',
      'address of the database (default: the configuration, then DATABASE_URL)',
    ),
  );
}

/** Arguments and flags of a command. */
interface Called<Options> {
  /** Positional arguments. */
  readonly args: readonly string[];
  opts(): Options;
}

/** Runs a command and turns its answer or error into the exit code. `operands` are the positional arguments. */
export function run<Options extends CommonFlags>(
  work: (flags: Options, output: Output, operands: readonly string[]) => Promise<number>,
): (this: Called<Options>) => Promise<void> {
  return async function runCommand(this: Called<Options>): Promise<void> {
    const flags = this.opts();
    const output = createOutput(flags.json ?? false);
    process.exitCode = await work(flags, output, this.args).catch((error: unknown) => explain(error, output));
  };
}
