import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { type Operations, type OperationsConfig, operations } from '../app/operations/operations.ts';
import { type DatabaseAddress, databaseOf, isDatabaseUrl } from '../config/database-config.ts';
import { environment } from '../config/env.ts';
import { OutboxError } from '../core/errors.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import { currentHost } from './host.ts';
import { loadConfig } from './load-config.ts';
import { exitCodes, explain, type Output } from './output.ts';
import type { CommonFlags } from './register.ts';
import { systemUser } from './system-user.ts';

/** Options of every command that changes something. */
export interface OperatorFlags extends CommonFlags {
  readonly actor?: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const configFile = 'outbox.config.ts';
/** Default names of the configuration file, in order of precedence. */
const configFiles = [configFile, 'outbox.config.js', 'src/outbox.config.ts', 'src/outbox.config.js'];

/** The configuration file: as given, else the first default that exists. */
export function configOf(flags: CommonFlags): string {
  return flags.config ?? configFiles.find((file) => existsSync(file)) ?? configFile;
}

/**
 * Address of the database: from `--database`, else from the configuration, which may also have certificates and
 * credentials, else from `DATABASE_URL`.
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

/** What the configuration says of groups and brokers; nothing where `--database` or `DATABASE_URL` stands in for a configuration. */
export async function configuredElsewhere(
  flags: CommonFlags,
): Promise<Pick<OperationsConfig, 'groups' | 'topics' | 'transports'>> {
  if (flags.config === undefined && (flags.database !== undefined || !existsSync(configOf(flags)))) return {};
  const { groups = {}, topics, transports } = await loadConfig(configOf(flags));
  return { groups, topics, transports };
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

/** Options of the operation, with the actor for the audit. */
export function optionsOf({ actor, reason, dryRun }: OperatorFlags): OperationOptions {
  return {
    actor: actor ?? systemUser(),
    ...(reason !== undefined && { reason }),
    ...(dryRun !== undefined && { dryRun }),
  };
}

/** Opens the operations for one command. */
export async function withOperations<Result>(
  flags: CommonFlags,
  work: (at: Operations, url: string) => Promise<Result>,
  rest: Pick<OperationsConfig, 'groups' | 'topics' | 'transports'> = {},
): Promise<Result> {
  const database = await databaseAddress(flags);
  const at = operations({ database, ...rest });
  try {
    return await work(at, database.url);
  } finally {
    await at.close();
  }
}

/**
 * Asks for confirmation before a change. Without a terminal, `--yes` or `--dry-run` is required.
 *
 * @param count must be typed, or given with `--expect`, to confirm a change of this many messages
 * @returns `undefined` if confirmed, else the exit code
 */
export async function refusedConsent(
  { yes, dryRun }: OperatorFlags,
  question: string,
  output: Output,
  count?: number,
): Promise<number | undefined> {
  if (yes === true || dryRun === true) return undefined;
  const { stderr, stdin } = currentHost();
  if (stdin.isTTY !== true || output.json) {
    const needed = count === undefined ? '--yes' : `--yes --expect ${count}`;
    return usageError(`Add ${needed} to do it, or --dry-run to see what would happen.`, output);
  }
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    const prompt = count === undefined ? `${question} [y/N] ` : `Type ${count} to do it: `;
    const answer = (await terminal.question(prompt)).trim();
    if (count === undefined ? /^y(?:es)?$/i.test(answer) : answer === String(count)) return undefined;
  } finally {
    terminal.close();
  }
  output.trouble('Nothing was done.');
  return exitCodes.failed;
}

/** Explains how to use the command. @returns the exit code */
export function usageError(message: string, output: Output): number {
  return explain(new OutboxError('OUTBOX_COMMAND_INVALID', message), output);
}
