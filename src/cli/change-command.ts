import type { Operations } from '../app/operations/operations.ts';
import { capitalized } from '../core/capitalized.ts';
import type { BulkTask, KeptTask } from '../operations/bulk/bulk.ts';
import type { KeptAnswer, MessageAnswer, Target } from '../operations/change.ts';
import { refusals } from '../operations/change.ts';
import { unknownNames } from '../operations/known-names.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import { type AskedBulk, type ManyFlags, startManyCommand } from './bulk-start-command.ts';
import { type FilterFlags, filterOf, keptFilterOf } from './filter-flags.ts';
import { keptTable } from './list-command.ts';
import {
  type OperatorFlags,
  optionsOf,
  refusedConsent,
  usageError,
  withOperations,
} from './operator-flags.ts';
import { exitCodes, explain, type Output, run } from './output.ts';
import { refusalLines } from './refusals-in-words.ts';
import { table } from './table.ts';

/** Flags of a command that changes the messages with given ids, or all that match a filter. */
export interface ChangeFlags extends ManyFlags, FilterFlags {}

/** Flags of a command that changes only messages that are named. */
export interface NamedFlags extends OperatorFlags {
  readonly topic?: string;
  readonly ref?: string;
}

/** Makes a change of messages of the outbox. */
type MakeChange = (
  at: Operations,
  target: Target,
  options: OperationOptions,
) => Promise<readonly ChangeAnswer[]>;

type ChangeAnswer = MessageAnswer<string> | KeptAnswer<string>;

/** A change that was asked for: of named messages, or else of all that match the filter. */
export interface AskedChange<Sample> {
  readonly action: string;
  /** Of all that match the filter; missing: it is not made so. */
  readonly many?: Omit<AskedBulk<Sample>, 'action'>;
  readonly filter: object;
  readonly ids: readonly string[];
  /** Names one message in place of an id. */
  readonly ref?: string | undefined;
  readonly howToName: string;
  readonly change: (at: Operations, options: OperationOptions) => Promise<readonly ChangeAnswer[]>;
  readonly rowOf: (answer: ChangeAnswer) => readonly [name: string, value: string | null];
}

/** Changes messages of the outbox, and prints the result of each, or starts a bulk operation. */
export function changeCommand(
  task: BulkTask,
  flags: ChangeFlags,
  ids: readonly string[],
  output: Output,
  change: MakeChange,
): Promise<number> {
  const byRef = refOf(flags, ids);
  const asked: AskedChange<Awaited<ReturnType<Operations['bulk']['start']>>['sample'][number]> = {
    action: task.action,
    filter: filterOf(flags),
    ids,
    ref: byRef?.ref,
    howToName:
      'Name messages by their ids, one with --topic and --ref, or many with a filter such as --state.',
    change: (at, options) => change(at, byRef ?? { ids }, options),
    rowOf: ({ topic }) => ['TOPIC', topic],
    many: {
      start: (at, options) => at.bulk.start(filterOf(flags), task, options),
      tableOf: sampleTable,
    },
  };
  return carryOut(asked, flags, output);
}

/** Changes messages of the outbox that are named, and prints the result of each. */
export function namedCommand(
  action: 'expunge' | 'withdraw',
  flags: NamedFlags,
  ids: readonly string[],
  output: Output,
  change: MakeChange,
): Promise<number> {
  const byRef = refOf(flags, ids);
  return carryOut(
    {
      action,
      filter: filterOf(flags),
      ids,
      ref: byRef?.ref,
      howToName: 'Name messages by their ids, or one with --topic and --ref.',
      change: (at, options) => change(at, byRef ?? { ids }, options),
      rowOf: ({ topic }) => ['TOPIC', topic],
    },
    flags,
    output,
  );
}

/** The first messages of a selection. */
export function sampleTable(sample: Awaited<ReturnType<Operations['bulk']['start']>>['sample']): string {
  return table(
    ['ID', 'TOPIC', 'STATE', 'KEY'],
    sample.map(({ id, topic, state, key }) => [id, topic, state, key ?? '-']),
  );
}

/** The same for messages that one group keeps. */
export async function keptChangeCommand(
  action: KeptTask['action'],
  flags: ChangeFlags,
  ids: readonly string[],
  output: Output,
): Promise<number> {
  const { group } = flags;
  if (group === undefined) return usageError('Name the consumer group with --group.', output);
  const asked: AskedChange<Parameters<typeof keptTable>[0][number]> = {
    action,
    filter: keptFilterOf(flags),
    ids,
    howToName: 'Name messages by their ids, or with a filter such as --state failed.',
    change: ({ inbox }, options) => inbox[action]({ group, ids }, options),
    rowOf: (answer) => ['KEY', 'key' in answer ? answer.key : null],
    many: {
      start: (at, options) => at.inbox.bulk.start({ ...keptFilterOf(flags), group }, { action }, options),
      tableOf: (sample) => keptTable(sample, false),
    },
  };
  return carryOut(asked, flags, output);
}

/** Cancels, retries or discards messages of the outbox. */
export function namedChange(action: 'cancel' | 'discard' | 'retry'): ReturnType<typeof run> {
  return run<ChangeFlags>((flags, output, ids) =>
    changeCommand({ action }, flags, ids, output, (at, target, options) => at[action](target, options)),
  );
}

/** The one message that the flags name by its topic and ref, which are no filter then. */
export function refOf(
  flags: ChangeFlags,
  ids: readonly string[],
): { readonly topic: string; readonly ref: string } | undefined {
  const { topic, ref, ...others } = filterOf(flags);
  if (ids.length > 0 || topic === undefined || ref === undefined) return undefined;
  return Object.keys(others).length === 0 ? { topic, ref } : undefined;
}

/** Asks for consent, makes the change, and prints the result of each message, or starts a bulk operation. */
export async function carryOut<Sample>(
  asked: AskedChange<Sample>,
  flags: ChangeFlags,
  output: Output,
): Promise<number> {
  const { action, ids, many, ref, filter } = asked;
  const { rate, expect, wait } = flags;
  const filtered = ref === undefined && Object.keys(filter).length > 0;
  if (filtered) {
    if (ids.length > 0) return usageError('Name messages by their ids or by a filter, not by both.', output);
    if (many === undefined) return usageError(asked.howToName, output);
    return startManyCommand({ action, ...many }, flags, output);
  }
  if (rate !== undefined || expect !== undefined || wait !== undefined)
    return usageError('--rate, --expect and --wait need a filter.', output);
  if (ids.length === 0 && ref === undefined) return usageError(asked.howToName, output);
  const refused = await refusedConsent(flags, questionOf(asked, flags), output);
  if (refused !== undefined) return refused;
  const { answers, wrongName } = await withOperations(flags, async (at) => {
    const done = await asked.change(at, optionsOf(flags));
    const found = done.some(({ result }) => result !== 'unknown');
    return { answers: done, wrongName: found ? undefined : await unknownNames(at, flags) };
  });
  return wrongName === undefined
    ? tell(answers, asked, flags.dryRun ?? false, output)
    : explain(wrongName, output);
}

function questionOf(
  { action, ids, ref }: Pick<AskedChange<never>, 'action' | 'ids' | 'ref'>,
  { group }: ChangeFlags,
): string {
  const verb = capitalized(action);
  if (ref !== undefined) return `${verb} the message of the ref "${ref}"?`;
  const of = group === undefined ? '' : ` of the group "${group}"`;
  return `${verb} ${ids.length} ${ids.length === 1 ? 'message' : 'messages'}${of}?`;
}

function tell(
  answers: readonly ChangeAnswer[],
  { action, rowOf }: Pick<AskedChange<never>, 'action' | 'rowOf'>,
  dryRun: boolean,
  output: Output,
): number {
  const done = answers.filter(({ result }) => !refusals.has(result)).length;
  const [first] = answers;
  if (dryRun) output.line('Nothing was changed. This would happen:');
  output.line(
    first === undefined
      ? 'No such message.'
      : table(
          ['ID', rowOf(first)[0], 'RESULT', 'STATE'],
          answers.map((answer) => [answer.id, rowOf(answer)[1] ?? '-', answer.result, answer.state ?? '-']),
        ),
  );
  for (const line of refusalLines(action, answers)) output.trouble(line);
  output.value({ ok: done === answers.length && done > 0, dryRun, answers });
  if (done === 0) return exitCodes.failed;
  return done === answers.length ? exitCodes.ok : exitCodes.partial;
}
