import type { Operations } from '../config/operations.ts';
import type { Ask, Target } from '../operations/ask.ts';
import type { MessageAnswer } from '../operations/change.ts';
import {
  askOf,
  type OperatorOptions,
  refusedConsent,
  type TargetOptions,
  targetOf,
  usageError,
  withOperations,
} from './operator-options.ts';
import { exitCodes, type Output } from './output.ts';
import { clip } from './printable.ts';
import { table } from './table.ts';

export type ChangeOptions = OperatorOptions & TargetOptions;

/** Changes the messages that operands and options name, and tells how each fared. */
export async function changeCommand(
  verb: string,
  {
    options,
    ids,
    output,
  }: { readonly options: ChangeOptions; readonly ids: readonly string[]; readonly output: Output },
  work: (at: Operations, target: Target, ask: Ask) => Promise<readonly MessageAnswer<string>[]>,
): Promise<number> {
  const target = targetOf(options, ids);
  if (target === undefined)
    return usageError(
      'Name messages by their ids, one by --topic and --ref, or many by a filter such as --state.',
      output,
    );
  const what =
    'ids' in target
      ? `${ids.length} ${ids.length === 1 ? 'message' : 'messages'}`
      : `the message of the ref "${target.ref}"`;
  const refused = await refusedConsent(options, `${verb} ${what}?`, output);
  if (refused !== undefined) return refused;
  const answers = await withOperations(options, (at) => work(at, target, askOf(options)));
  const isDone = ({ result }: MessageAnswer<string>): boolean =>
    !['too-late', 'unknown', 'busy', 'out-of-range'].includes(result);
  const done = answers.filter(isDone).length;
  if (options.dryRun === true) output.line('Nothing was changed. This would happen:');
  output.line(answers.length === 0 ? 'No such message.' : table(heading, answers.map(row)));
  output.value({
    ok: done === answers.length && done > 0,
    dryRun: options.dryRun ?? false,
    messages: answers,
  });
  if (done === 0) return exitCodes.failed;
  return done === answers.length ? exitCodes.ok : exitCodes.partial;
}

const heading = ['ID', 'TOPIC', 'RESULT', 'STATE'];

function row({ id, topic, result, state }: MessageAnswer<string>): string[] {
  return [id, clip(topic ?? '-', 30), result, state ?? '-'];
}
