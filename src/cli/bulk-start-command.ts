import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { BulkTask } from '../config/bulk-operations.ts';
import type { Operations } from '../config/operations.ts';
import type { BulkAnswer } from '../operations/bulk.ts';
import type { BulkOptions } from '../operations/bulk-filter.ts';
import { tellStarted } from './bulk-show-command.ts';
import { type FilterFlags, filterOf } from './filter-flags.ts';
import { unknownNames } from './known-names.ts';
import { type OperatorFlags, optionsOf, usageError, withOperations } from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { table } from './table.ts';

/** Options of a change of all messages that match a filter, whatever the filter is. */
export interface ManyFlags extends OperatorFlags {
  readonly rate?: string;
  readonly expect?: string;
  readonly wait?: boolean;
}

/** With a filter of messages of the outbox. */
export type BulkStartFlags = ManyFlags & FilterFlags;

/** With more messages than this, their number has to be said. */
const unsaid = 100;

/** Adds what a change of many messages takes beside its filter. */
export function withMany(command: Command): Command {
  return command
    .option('--rate <count>', 'most messages a second, with a filter (default: 500)')
    .option('--expect <count>', 'do it only when so many messages match')
    .option('--wait', 'show the progress until it is done');
}

/** True when flags name messages by a filter; `--topic` with `--ref` alone names one message. */
export function isFilter(flags: FilterFlags, ids: readonly string[]): boolean {
  const names = Object.keys(filterOf(flags));
  return ids.length === 0 && names.length > 0 && names.toSorted().join() !== 'ref,topic';
}

export const bothWays = 'Name messages by their ids or by a filter, not by both.';

/** What is wrong when messages are named and flags are given that go with a filter. */
export function filterMisuse(flags: BulkStartFlags, ids: readonly string[]): string | undefined {
  if (isFilter(flags, ids)) return undefined;
  if (ids.length > 0 && Object.keys(filterOf(flags)).length > 0) return bothWays;
  return manyMisuse(flags);
}

/** The same of flags that go with a filter, where there is none. */
export function manyMisuse({ rate, expect, wait }: ManyFlags): string | undefined {
  const given = rate !== undefined || expect !== undefined || wait !== undefined;
  return given ? '--rate, --expect and --wait go with a filter.' : undefined;
}

/** A change of all messages that some filter matches. */
export interface AskedBulk<Sample> {
  readonly action: string;
  readonly start: (at: Operations, options: BulkOptions) => Promise<BulkAnswer<Sample>>;
  /** The first messages of the selection, as a table. */
  readonly tableOf: (sample: readonly Sample[]) => string;
}

/** Shows what a filter of messages of the outbox matches, asks, and starts the change. */
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

/** Shows what a filter matches, asks, and starts the change; relays or consumers carry it out. */
export async function startManyCommand<Sample>(
  asked: AskedBulk<Sample>,
  flags: ManyFlags & { readonly topic?: string; readonly group?: string },
  output: Output,
): Promise<number> {
  const { reason = flags.dryRun === true ? 'dry run' : undefined } = flags;
  if (reason === undefined) return usageError('A change of many messages needs its --reason.', output);
  const [rate, expected] = [countOf(flags.rate), countOf(flags.expect)];
  if (rate === 'invalid' || expected === 'invalid')
    return usageError('--rate and --expect take a number of messages.', output);
  const options = { ...optionsOf(flags), reason, ...(rate !== undefined && { ratePerSecond: rate }) };
  return withOperations(flags, async (at) => {
    const found = await asked.start(at, { ...options, dryRun: true });
    const unknown = found.count === 0 ? await unknownNames(at, flags) : undefined;
    if (unknown !== undefined) return usageError(unknown, output);
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

/** More than a hundred messages are consented to by their number: on the command line, or typed. */
async function consentTo(
  { count }: { readonly count: number },
  expected: number | undefined,
  { yes }: OperatorFlags,
  output: Output,
): Promise<Consent> {
  const many = count > unsaid;
  if (yes === true) {
    if (!many || expected !== undefined) return { expect: expected };
    return { refused: usageError(`These are more than ${unsaid}: say --expect ${count} as well.`, output) };
  }
  if (!process.stdin.isTTY || output.json) {
    const flags = many ? `--yes --expect ${count}` : '--yes';
    return { refused: usageError(`Say ${flags} to do it, or --dry-run to see what would happen.`, output) };
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
  return `${many}; ${action} is asked for.${count > sample.length ? ' The first:' : ''}\n${tableOf(sample)}`;
}

/** A number of messages as an option says it. */
function countOf(text: string | undefined): number | undefined | 'invalid' {
  if (text === undefined) return undefined;
  return /^\d{1,9}$/.test(text) ? Number(text) : 'invalid';
}
