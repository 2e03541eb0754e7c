import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { type Operations, operations } from '../app/operations/operations.ts';
import { OutboxError } from '../core/errors.ts';
import type { Topic } from '../core/topic.ts';
import type { Target } from '../operations/change.ts';
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

/** Flags that name a message by topic and ref, instead of ids. */
export interface TargetFlags {
  readonly topic?: string;
  readonly ref?: string;
}

/** The target that arguments and flags name; `undefined` if they name none, or both. */
export function targetOf({ topic, ref }: TargetFlags, ids: readonly string[]): Target | undefined {
  const byRef = topic !== undefined && ref !== undefined;
  if (ids.length > 0) return topic === undefined && ref === undefined ? { ids } : undefined;
  return byRef ? { topic, ref } : undefined;
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
  work: (at: Operations) => Promise<Result>,
  topics: readonly Topic[] = [],
): Promise<Result> {
  const at = operations({ database: await databaseAddress(flags), topics });
  try {
    return await work(at);
  } finally {
    await at.close();
  }
}

/**
 * Asks for confirmation before a change. Without a terminal, `--yes` or `--dry-run` is required.
 *
 * @returns `undefined` if confirmed, else the exit code
 */
export async function refusedConsent(
  { yes, dryRun }: OperatorFlags,
  question: string,
  output: Output,
): Promise<number | undefined> {
  if (yes === true || dryRun === true) return undefined;
  if (!process.stdin.isTTY || output.json) {
    return usageError('Add --yes to do it, or --dry-run to see what would happen.', output);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    if (/^y(?:es)?$/i.test(answer.trim())) return undefined;
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
