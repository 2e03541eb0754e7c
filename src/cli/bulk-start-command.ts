import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { BulkTask } from '../app/operations/bulk-operations.ts';
import type { Operations } from '../app/operations/operations.ts';
import type { BulkOptions } from '../operations/bulk-filter.ts';
import type { BulkAnswer } from '../operations/bulk-start.ts';
import { tellStarted } from './bulk-show-command.ts';
import { type FilterFlags, filterOf } from './filter-flags.ts';
import { unknownNames } from './known-names.ts';
import { type OperatorFlags, optionsOf, usageError, withOperations } from './operator-flags.ts';
import { exitCodes, explain, type Output } from './output.ts';
import { table } from './table.ts';

/** Flags of a bulk operation, without its filter. */
export interface ManyFlags extends OperatorFlags {
  readonly rate?: string;
  readonly expect?: string;
  readonly wait?: boolean;
}

/** The same, with a filter of outbox messages. */
export type BulkStartFlags = ManyFlags & FilterFlags;

/** For more messages than this, their number must be given. */
const unsaid = 100;

/** Adds the flags of a bulk operation, without its filter. */
export function withMany(command: Command): Command {
  return command
    .option('--rate <count>', 'maximum number of messages per second, with a filter (default: 500)')
    .option('--expect <count>', 'do it only if exactly this many messages match the filter')
    .option('--wait', 'show the progress until it is done');
}

/** True if flags contain a filter; only `--topic` and `--ref` together name one message. */
export function isFilter(flags: FilterFlags, ids: readonly string[]): boolean {
  const names = Object.keys(filterOf(flags));
  return ids.length === 0 && names.length > 0 && names.toSorted().join() !== 'ref,topic';
}

export const bothWays = 'Name messages by their ids or by a filter, not by both.';

/** The usage error of flags that need a filter, given together with ids. */
export function filterMisuse(flags: BulkStartFlags, ids: readonly string[]): string | undefined {
  if (isFilter(flags, ids)) return undefined;
  if (ids.length > 0 && Object.keys(filterOf(flags)).length > 0) return bothWays;
  return manyMisuse(flags);
}

/** The usage error of flags that need a filter, given without one. */
export function manyMisuse({ rate, expect, wait }: ManyFlags): string | undefined {
  const given = rate !== undefined || expect !== undefined || wait !== undefined;
  return given ? '--rate, --expect and --wait need a filter.' : undefined;
}

/** A bulk operation that was asked for. */
export interface AskedBulk<Sample> {
  readonly action: string;
  readonly start: (at: Operations, options: BulkOptions) => Promise<BulkAnswer<Sample>>;
  /** The first messages of the selection, as a table. */
  readonly tableOf: (sample: readonly Sample[]) => string;
}

/** Shows which outbox messages match a filter, asks for confirmation, and starts the change. */
export function bulkStartCommand(task: BulkTask, flags: BulkStartFlags, output: Output): Promise<number> {
  const asked: AskedBulk<BulkAnswer['sample'][number]> = {
    action: task.action,
    start: (at, options) => at.bulk.start(filterOf(flags), task, options),
    tableOf: (sample) =>
      table(
        ['ID', 'TOPIC', 'STATE', 'KEY'],
        sample.map(({ id, topic, state, key }) => [id, topic, state, key ?? '-']),
      ),
  };
  return startManyCommand(asked, flags, output);
}

/** Shows which messages match, asks for confirmation, and starts the change, which relays or consumers then make. */
export async function startManyCommand<Sample>(
  asked: AskedBulk<Sample>,
  flags: ManyFlags & { readonly topic?: string; readonly group?: string },
  output: Output,
): Promise<number> {
  const { reason = flags.dryRun === true ? 'dry run' : undefined } = flags;
  if (reason === undefined) return usageError('A bulk operation needs a --reason.', output);
  const [rate, expected] = [countOf(flags.rate), countOf(flags.expect)];
  if (rate === 'invalid' || expected === 'invalid')
    return usageError('--rate and --expect take a number of messages.', output);
  const options = { ...optionsOf(flags), reason, ...(rate !== undefined && { ratePerSecond: rate }) };
  return withOperations(flags, async (at) => {
    const found = await asked.start(at, { ...options, dryRun: true });
    const unknown = found.count === 0 ? await unknownNames(at, flags) : undefined;
    if (unknown !== undefined) return explain(unknown, output);
    output.line(describe(asked, found));
    if (flags.dryRun === true) {
      output.value({ ok: true, dryRun: true, count: found.count, exact: found.exact, sample: found.sample });
      return exitCodes.ok;
    }
    const consent = await consentTo(found, expected, flags, output);
    if ('refused' in consent) return consent.refused;
    const { id } = await asked.start(at, {
      ...options,
      ...(consent.expect !== undefined && { expect: consent.expect }),
    });
    return tellStarted(at, id ?? '', flags.wait ?? false, output);
  });
}

type Consent = { readonly refused: number } | { readonly expect: number | undefined };

/** Asks for confirmation. For more than a hundred messages it is their number, as a flag or typed. */
async function consentTo(
  { count }: { readonly count: number },
  expected: number | undefined,
  { yes }: OperatorFlags,
  output: Output,
): Promise<Consent> {
  const many = count > unsaid;
  if (yes === true) {
    if (!many || expected !== undefined) return { expect: expected };
    return { refused: usageError(`These are more than ${unsaid}: add --expect ${count}.`, output) };
  }
  if (!process.stdin.isTTY || output.json) {
    const flags = many ? `--yes --expect ${count}` : '--yes';
    return { refused: usageError(`Add ${flags} to do it, or --dry-run to see what would happen.`, output) };
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(many ? `Type ${count} to do it: ` : 'Do it? [y/N] ');
    const agreed = many ? answer.trim() === String(count) : /^y(?:es)?$/i.test(answer.trim());
    if (agreed) return { expect: expected ?? count };
  } finally {
    terminal.close();
  }
  output.trouble('Nothing was done.');
  return { refused: exitCodes.failed };
}

function describe<Sample>(
  { action, tableOf }: AskedBulk<Sample>,
  { count, exact, sample }: BulkAnswer<Sample>,
): string {
  if (count === 0) return 'No message matches.';
  const many = `${exact ? '' : 'At least '}${count} ${count === 1 ? 'message matches' : 'messages match'}`;
  return `${many}; action: ${action}.${count > sample.length ? ' The first:' : ''}\n${tableOf(sample)}`;
}

/** The value of a flag that takes a number of messages. */
function countOf(text: string | undefined): number | undefined | 'invalid' {
  if (text === undefined) return undefined;
  return /^\d{1,9}$/.test(text) ? Number(text) : 'invalid';
}
