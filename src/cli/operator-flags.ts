import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { type Operations, operations } from '../app/operations/operations.ts';
import { OutboxError } from '../core/errors.ts';
import type { Topic } from '../core/topic.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import { exitCodes, explain, type Output } from './output.ts';
import { addCommand, type CommonFlags, databaseAddress, withDatabase } from './register.ts';
import { systemUser } from './system-user.ts';

/** Options of every command that changes something. */
export interface OperatorFlags extends CommonFlags {
  readonly actor?: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** A command that changes something on behalf of a person. */
export function addOperatorCommand(root: Command, usage: string, description: string): Command {
  return withDatabase(addCommand(root, usage, description))
    .option('--actor <name>', 'who does it, for the audit (default: the current system user)')
    .option('--reason <text>', 'why, for the audit')
    .option('--dry-run', 'show what would happen, and change nothing')
    .option('--yes', 'do not ask for confirmation');
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
  topics: readonly Topic[] = [],
): Promise<Result> {
  const database = await databaseAddress(flags);
  const at = operations({ database, topics });
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
  if (!process.stdin.isTTY || output.json) {
    const needed = count === undefined ? '--yes' : `--yes --expect ${count}`;
    return usageError(`Add ${needed} to do it, or --dry-run to see what would happen.`, output);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
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
