import type { Command } from 'commander';
import type { Operations } from '../app/operations/operations.ts';
import type { BulkOptions } from '../operations/bulk/checks.ts';
import type { BulkAnswer } from '../operations/bulk/start.ts';
import { optionTexts } from '../operations/descriptions.ts';
import { unknownNames } from '../operations/known-names.ts';
import { tellStarted } from './bulk-show-command.ts';
import {
  type OperatorFlags,
  optionsOf,
  refusedConsent,
  usageError,
  withOperations,
} from './operator-flags.ts';
import { exitCodes, explain, type Output } from './output.ts';

/** Flags of a bulk operation, without its filter. */
export interface ManyFlags extends OperatorFlags {
  readonly rate?: string;
  readonly expect?: string;
  readonly wait?: boolean;
}

/** For more messages than this, their number must be given. */
const unsaid = 100;

/** Adds the flags of a bulk operation, without its filter. */
export function withMany(command: Command): Command {
  return command
    .option('--rate <count>', `${optionTexts.ratePerSecond}, with a filter (default: 500)`)
    .option('--expect <count>', optionTexts.expect)
    .option('--wait', 'show the progress until it is done');
}

/** A bulk operation that was asked for. */
export interface AskedBulk<Sample> {
  readonly action: string;
  readonly start: (at: Operations, options: BulkOptions) => Promise<BulkAnswer<Sample>>;
  /** The first messages of the selection, as a table. */
  readonly tableOf: (sample: readonly Sample[]) => string;
}

/** Shows which messages match, asks for confirmation, and starts the change, which relays or consumers then make. */
export async function startManyCommand<Sample>(
  asked: AskedBulk<Sample>,
  flags: ManyFlags & { readonly topic?: string; readonly group?: string },
  output: Output,
): Promise<number> {
  const { reason = flags.dryRun === true ? 'dry run' : undefined } = flags;
  if (reason === undefined)
    return usageError('A change by a filter needs a --reason; --dry-run shows what matches.', output);
  const [rate, expected] = [countOf(flags.rate), countOf(flags.expect)];
  if (rate === 'invalid' || expected === 'invalid')
    return usageError('--rate and --expect take a number of messages.', output);
  const options = { ...optionsOf(flags), reason, ...(rate !== undefined && { ratePerSecond: rate }) };
  return withOperations(flags, async (at) => {
    const found = await asked.start(at, { ...options, dryRun: true });
    const unknown = found.count === 0 ? await unknownNames(at, flags) : undefined;
    if (unknown !== undefined) return explain(unknown, output);
    // Who says how many there are has seen the first ones.
    output.line(describe(asked, found, flags.dryRun === true || expected === undefined));
    if (flags.dryRun === true) {
      output.line(
        `Nothing was changed. ${found.count === 0 ? '' : 'To do it: --reason and --yes in place of --dry-run.'}`.trimEnd(),
      );
      output.value({ ok: true, dryRun: true, ...found });
      return exitCodes.ok;
    }
    const { count } = found;
    const many = count > unsaid;
    if (flags.yes === true && many && expected === undefined)
      return usageError(`More than ${unsaid} messages match: add --expect ${count}.`, output);
    const refused = await refusedConsent(flags, 'Do it?', output, many ? count : undefined);
    if (refused !== undefined) return refused;
    const expect = expected ?? (flags.yes === true ? undefined : count);
    const { id } = await asked.start(at, { ...options, ...(expect !== undefined && { expect }) });
    return tellStarted(at, id ?? '', flags.wait ?? false, output);
  });
}

function describe<Sample>(
  { action, tableOf }: AskedBulk<Sample>,
  { count, exact, sample }: BulkAnswer<Sample>,
  shown: boolean,
): string {
  if (count === 0) return 'No message matches.';
  const many = `${exact ? '' : 'At least '}${count} ${count === 1 ? 'message matches' : 'messages match'}`;
  const said = `${many}; action: ${action}.`;
  return shown ? `${said}${count > sample.length ? ' The first:' : ''}\n${tableOf(sample)}` : said;
}

/** The value of a flag that takes a number of messages. */
function countOf(text: string | undefined): number | undefined | 'invalid' {
  if (text === undefined) return undefined;
  return /^\d{1,9}$/.test(text) ? Number(text) : 'invalid';
}
