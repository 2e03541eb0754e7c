import type { KeptAction } from '../config/inbox-operations.ts';
import type { KeptAnswer } from '../operations/inbox/change.ts';
import type { KeptManyAnswer } from '../operations/inbox/change-many.ts';
import { consentTo, countOf } from './bulk-start-command.ts';
import { hasKeptFilter, type KeptFilterFlags, keptFilterOf } from './inbox-flags.ts';
import { keptTable } from './inbox-list-command.ts';
import { unknownNames } from './known-names.ts';
import {
  type OperatorFlags,
  optionsOf,
  refusedConsent,
  usageError,
  withOperations,
} from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { clip } from './printable.ts';
import { table } from './table.ts';

export interface InboxChangeFlags extends OperatorFlags, KeptFilterFlags {
  readonly rate?: string;
  readonly expect?: string;
}

type Answers = readonly KeptAnswer<'retried' | 'discarded'>[];

const verbs = { retry: 'Retry', discard: 'Discard' } as const satisfies Record<KeptAction, string>;

/** Retries or discards messages of one group: those that are named, or all that a filter matches. */
export async function inboxChangeCommand(
  action: KeptAction,
  flags: InboxChangeFlags,
  ids: readonly string[],
  output: Output,
): Promise<number> {
  const { expect, group, rate } = flags;
  if (group === undefined) return usageError('Name the consumer group by --group.', output);
  const many = hasKeptFilter(flags);
  if (many === ids.length > 0)
    return usageError(
      many
        ? 'Name messages by their ids or by a filter, not by both.'
        : 'Name messages by their ids, or many by a filter such as --state failed.',
      output,
    );
  if (many) return changeMany(action, flags, output);
  if (rate !== undefined || expect !== undefined)
    return usageError('--rate and --expect go with a filter.', output);
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

async function changeMany(action: KeptAction, flags: InboxChangeFlags, output: Output): Promise<number> {
  const { dryRun = false, reason = dryRun ? 'dry run' : undefined } = flags;
  if (reason === undefined) return usageError('A change of many messages needs its --reason.', output);
  const [rate, expected] = [countOf(flags.rate), countOf(flags.expect)];
  if (rate === 'invalid' || expected === 'invalid')
    return usageError('--rate and --expect take a number of messages.', output);
  const filter = keptFilterOf(flags);
  const options = { ...optionsOf(flags), reason, ...(rate !== undefined && { ratePerSecond: rate }) };
  return withOperations(flags, async (at) => {
    const found = await at.inbox.many(filter, action, { ...options, dryRun: true });
    const unknown = found.count === 0 ? await unknownNames(at, flags) : undefined;
    if (unknown !== undefined) return usageError(unknown, output);
    output.line(describe(action, found));
    if (dryRun) {
      output.value({ ok: true, ...found });
      return exitCodes.ok;
    }
    const consent = await consentTo(found, expected, flags, output);
    if ('refused' in consent) return consent.refused;
    const answer = await at.inbox.many(filter, action, {
      ...options,
      ...(consent.expect !== undefined && { expect: consent.expect }),
    });
    return tellMany(action, answer, output);
  });
}

function describe(action: KeptAction, { count, exact, sample }: KeptManyAnswer): string {
  if (count === 0) return 'No message matches.';
  const many = `${exact ? '' : 'At least '}${count} ${count === 1 ? 'message matches' : 'messages match'}`;
  const first = count > sample.length ? ' The latest:' : '';
  return `${many}; ${action} is asked for.${first}\n${keptTable(sample, false)}`;
}

function tellMany(action: KeptAction, answer: KeptManyAnswer, output: Output): number {
  const { done, ...others } = answer.counts;
  const left = Object.entries(others).filter(([, count]) => count > 0);
  const tail = left.map(([result, count]) => `, ${count} ${result}`).join('');
  output.line(`\n${done} ${action === 'retry' ? 'retried' : 'discarded'}${tail}.`);
  if (answer.refused.length > 0) output.line(answersTable(answer.refused));
  output.value({ ok: left.length === 0, ...answer });
  return left.length === 0 ? exitCodes.ok : exitCodeOf(done, done + 1);
}

function answersTable(answers: Answers): string {
  return table(
    ['ID', 'KEY', 'RESULT', 'STATE'],
    answers.map(({ id, key, result, state }) => [clip(id, 40), clip(key ?? '-', 12), result, state ?? '-']),
  );
}

function exitCodeOf(done: number, all: number): number {
  if (done === 0) return exitCodes.failed;
  return done === all ? exitCodes.ok : exitCodes.partial;
}
