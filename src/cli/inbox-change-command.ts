import type { KeptTask } from '../app/operations/bulk-operations.ts';
import type { KeptAnswer } from '../operations/change.ts';
import type { KeptList } from '../operations/list.ts';
import {
  type AskedBulk,
  bothWays,
  type ManyFlags,
  manyMisuse,
  startManyCommand,
} from './bulk-start-command.ts';
import { hasKeptFilter, type KeptFilterFlags, keptFilterOf } from './inbox-flags.ts';
import { keptTable } from './inbox-list-command.ts';
import { optionsOf, refusedConsent, usageError, withOperations } from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { table } from './table.ts';

export interface InboxChangeFlags extends ManyFlags, KeptFilterFlags {}

type KeptAction = KeptTask['action'];
type ListedKept = KeptList['messages'][number];
type Answers = readonly KeptAnswer<'retried' | 'discarded'>[];

const verbs = { retry: 'Retry', discard: 'Discard' } as const satisfies Record<KeptAction, string>;

/** Retries or discards messages of one group: those with the given ids, or all that match a filter. */
export async function inboxChangeCommand(
  action: KeptAction,
  flags: InboxChangeFlags,
  ids: readonly string[],
  output: Output,
): Promise<number> {
  const { group } = flags;
  if (group === undefined) return usageError('Name the consumer group with --group.', output);
  const many = hasKeptFilter(flags);
  if (many === ids.length > 0)
    return usageError(
      many ? bothWays : 'Name messages by their ids, or with a filter such as --state failed.',
      output,
    );
  if (many) return changeMany(action, flags, group, output);
  const misuse = manyMisuse(flags);
  if (misuse !== undefined) return usageError(misuse, output);
  const question = `${verbs[action]} ${ids.length} ${ids.length === 1 ? 'message' : 'messages'} of the group "${group}"?`;
  const refused = await refusedConsent(flags, question, output);
  if (refused !== undefined) return refused;
  const answers = await withOperations<Answers>(flags, ({ inbox }) =>
    inbox[action]({ group, ids }, optionsOf(flags)),
  );
  return tellNamed(answers, flags.dryRun ?? false, output);
}

function tellNamed(answers: Answers, dryRun: boolean, output: Output): number {
  const done = answers.filter(({ result }) => result === 'retried' || result === 'discarded').length;
  if (dryRun) output.line('Nothing was changed. This would happen:');
  output.line(answersTable(answers));
  output.value({ ok: done === answers.length, dryRun, messages: answers });
  return exitCodeOf(done, answers.length);
}

function changeMany(
  action: KeptAction,
  flags: InboxChangeFlags,
  group: string,
  output: Output,
): Promise<number> {
  const asked: AskedBulk<ListedKept> = {
    action,
    start: (at, options) => at.inbox.bulk.start({ ...keptFilterOf(flags), group }, { action }, options),
    tableOf: (sample) => keptTable(sample, false),
  };
  return startManyCommand(asked, flags, output);
}

function answersTable(answers: Answers): string {
  return table(
    ['ID', 'KEY', 'RESULT', 'STATE'],
    answers.map(({ id, key, result, state }) => [id, key ?? '-', result, state ?? '-']),
  );
}

function exitCodeOf(done: number, all: number): number {
  if (done === 0) return exitCodes.failed;
  return done === all ? exitCodes.ok : exitCodes.partial;
}
