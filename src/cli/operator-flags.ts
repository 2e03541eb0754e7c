import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { type Operations, operations } from '../config/operations.ts';
import type { Topic } from '../core/topic.ts';
import type { OperationOptions, Target } from '../operations/operation-options.ts';
import { exitCodes, type Output } from './output.ts';
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
    .option('--actor <name>', 'who does it, for the audit (default: the user of this system)')
    .option('--reason <text>', 'why, for the audit')
    .option('--dry-run', 'tell what would happen, and change nothing')
    .option('--yes', 'do it without asking');
}

/** Messages are named by their ids, or by topic and ref. */
export interface TargetFlags {
  readonly topic?: string;
  readonly ref?: string;
}

/** What the operands and flags name; undefined when they name nothing, or both. */
export function targetOf({ topic, ref }: TargetFlags, ids: readonly string[]): Target | undefined {
  const byRef = topic !== undefined && ref !== undefined;
  if (ids.length > 0) return topic === undefined && ref === undefined ? { ids } : undefined;
  return byRef ? { topic, ref } : undefined;
}

/** Who asks, for the audit. */
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
 * Asks a person before something is changed. Where nobody can be asked, `--yes` or `--dry-run` must have been said.
 *
 * @returns undefined when it may be done, else the exit code
 */
export async function refusedConsent(
  { yes, dryRun }: OperatorFlags,
  question: string,
  output: Output,
): Promise<number | undefined> {
  if (yes === true || dryRun === true) return undefined;
  if (!process.stdin.isTTY || output.json) {
    return usageError('Say --yes to do it, or --dry-run to see what would happen.', output);
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

/** Says how the command is used, and answers the exit code. */
export function usageError(message: string, output: Output): number {
  output.trouble(message);
  output.value({ ok: false, message });
  return exitCodes.usage;
}
