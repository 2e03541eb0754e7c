import type { Operations } from '../app/operations/operations.ts';

import type { MessageAnswer, Target } from '../operations/change.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import { unknownNames } from './known-names.ts';
import {
  type OperatorFlags,
  optionsOf,
  refusedConsent,
  type TargetFlags,
  targetOf,
  usageError,
  withOperations,
} from './operator-flags.ts';
import { exitCodes, explain, type Output } from './output.ts';
import { table } from './table.ts';

export type ChangeFlags = OperatorFlags & TargetFlags;

/** Changes the messages that arguments and flags name, and prints the result of each. */
export async function changeCommand(
  verb: string,
  {
    flags,
    ids,
    output,
  }: { readonly flags: ChangeFlags; readonly ids: readonly string[]; readonly output: Output },
  work: (
    at: Operations,
    target: Target,
    options: OperationOptions,
  ) => Promise<readonly MessageAnswer<string>[]>,
): Promise<number> {
  const target = targetOf(flags, ids);
  if (target === undefined)
    return usageError(
      'Name messages by their ids, one with --topic and --ref, or many with a filter such as --state.',
      output,
    );
  const what =
    'ids' in target
      ? `${ids.length} ${ids.length === 1 ? 'message' : 'messages'}`
      : `the message of the ref "${target.ref}"`;
  const refused = await refusedConsent(flags, `${verb} ${what}?`, output);
  if (refused !== undefined) return refused;
  const { answers, wrongName } = await withOperations(flags, async (at) => {
    const done = await work(at, target, optionsOf(flags));
    return { answers: done, wrongName: done.length === 0 ? await unknownNames(at, flags) : undefined };
  });
  if (wrongName !== undefined) return explain(wrongName, output);
  const isDone = ({ result }: MessageAnswer<string>): boolean =>
    !['too-late', 'unknown', 'busy', 'out-of-range'].includes(result);
  const done = answers.filter(isDone).length;
  if (flags.dryRun === true) output.line('Nothing was changed. This would happen:');
  output.line(answers.length === 0 ? 'No such message.' : table(heading, answers.map(row)));
  output.value({
    ok: done === answers.length && done > 0,
    dryRun: flags.dryRun ?? false,
    messages: answers,
  });
  if (done === 0) return exitCodes.failed;
  return done === answers.length ? exitCodes.ok : exitCodes.partial;
}

const heading = ['ID', 'TOPIC', 'RESULT', 'STATE'];

function row({ id, topic, result, state }: MessageAnswer<string>): string[] {
  return [id, topic ?? '-', result, state ?? '-'];
}
