import type { Command } from 'commander';
import type { Operations } from '../app/operations/operations.ts';
import { bulkTable } from '../operations/bulk/bulk.ts';
import type { BulkOperation } from '../operations/bulk/steps.ts';
import { optionTexts } from '../operations/descriptions.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import { selectionOf, showStanding, untilEnded } from './bulk-show-command.ts';
import { wholeOfFlag } from './flag-values.ts';
import { type OperatorFlags, optionsOf, refusedConsent, withOperations } from './operator-flags.ts';
import { exitCodes, type Output, run } from './output.ts';
import { clip } from './printable.ts';
import { addDeclaredCommand, type CommonFlags, stopSignal } from './register.ts';
import { tableWith } from './table.ts';

interface ListBulkFlags extends CommonFlags {
  readonly limit?: string;
}

interface ShowBulkFlags extends CommonFlags {
  readonly wait?: boolean;
}

/** Commands for bulk operations, which `cancel`, `retry` and others start with a filter. */
export function registerBulkCommands(root: Command): void {
  const bulk = root.command('bulk').description('list and control bulk operations');
  addDeclaredCommand(bulk, 'list', bulkTable.list)
    .option('--limit <count>', optionTexts.limit, '50')
    .action(run<ListBulkFlags>(listCommand));
  addDeclaredCommand(bulk, 'show', bulkTable.show)
    .option('--wait', 'show the progress until it has ended')
    .action(run<ShowBulkFlags>((flags, output, [id = '']) => showCommand(id, flags, output)));
  const steps = [
    ['pause', 'Pause'],
    ['resume', 'Resume'],
    ['abort', 'Abort'],
  ] as const;
  for (const [step, verb] of steps) {
    addDeclaredCommand(bulk, step, bulkTable[step]).action(
      run<OperatorFlags>((flags, output, [id = '']) =>
        stepCommand(`${verb} ${id}?`, flags, output, (at, options) => at.bulk[step](id, options)),
      ),
    );
  }
}

const heading = ['ID', 'ACTION', 'STATE', 'ANSWERED', 'STARTED', 'BY'];

async function listCommand({ limit = '50', ...flags }: ListBulkFlags, output: Output): Promise<number> {
  const bulks = await withOperations(flags, (at) => listBoth(at, wholeOfFlag('limit', limit)));
  output.line(bulks.length === 0 ? 'None was started.' : tableOf(bulks));
  output.value({ ok: true, bulks });
  return exitCodes.ok;
}

/** Bulk operations on outbox messages, and on those that consumers keep. */
async function listBoth({ bulk, inbox }: Operations, limit: number): Promise<readonly BulkOperation[]> {
  const [sent, kept] = await Promise.all([bulk.list(limit), inbox.bulk.list(limit)]);
  return [...sent, ...kept].toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime()).slice(0, limit);
}

/** The group that keeps the messages, and the filter that chose them, are on the next lines. */
function tableOf(bulks: readonly BulkOperation[]): string {
  return tableWith(heading, bulks, row, (bulk) => [
    ...(bulk.group === null ? [] : [`  of the group ${clip(bulk.group, 60)}`]),
    `  ${selectionOf(bulk)}`,
  ]);
}

function row({ id, action, state, answered, total, totalExact, createdAt, actor }: BulkOperation): string[] {
  const started = `${createdAt.toISOString().slice(0, 16)}Z`;
  return [id, action, state, `${answered}/${total}${totalExact ? '' : '+'}`, started, actor];
}

function showCommand(id: string, flags: ShowBulkFlags, output: Output): Promise<number> {
  return withOperations(flags, async (at) => {
    if (flags.wait === true) return untilEnded(at, id, output, stopSignal());
    const bulk = await at.bulk.show(id);
    output.line(showStanding(bulk));
    output.value({ ok: true, ...bulk });
    return exitCodes.ok;
  });
}

async function stepCommand(
  question: string,
  flags: OperatorFlags,
  output: Output,
  work: (at: Operations, options: OperationOptions) => ReturnType<Operations['bulk']['pause']>,
): Promise<number> {
  const refused = await refusedConsent(flags, question, output);
  if (refused !== undefined) return refused;
  const { changed, state } = await withOperations(flags, (at) => work(at, optionsOf(flags)));
  if (flags.dryRun === true) output.line('Nothing was changed. This would happen:');
  output.line(changed ? `It is ${state} now.` : `Nothing to do: it is ${state}.`);
  output.value({ ok: changed, dryRun: flags.dryRun ?? false, changed, state });
  return changed ? exitCodes.ok : exitCodes.failed;
}
