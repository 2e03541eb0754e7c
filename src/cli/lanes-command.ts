import type { Operations } from '../app/operations/operations.ts';
import type { TopicChangeAnswer } from '../operations/delivery/lanes.ts';
import { withKnownNames } from '../operations/known-names.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import { type OperatorFlags, optionsOf, refusedConsent, usageError } from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { timeoutOf } from './pause-command.ts';
import { printable } from './printable.ts';

/** Flags of `lanes` and `partitions`. */
export interface CountFlags extends OperatorFlags {
  readonly timeout?: string;
  /** Consumer groups, separated by commas. */
  readonly group?: string;
}

/** The arguments: topic and number. */
export interface CountWanted {
  readonly what: 'lanes' | 'partitions';
  readonly topic: string | undefined;
  readonly count: string | undefined;
}

type Change = (
  at: Operations,
  topic: string,
  count: number,
  options: OperationOptions & { readonly timeout?: number },
) => Promise<TopicChangeAnswer>;

/** Changes the number of lanes or partitions of a topic; exit code 4 if the change has begun but is not complete. */
export async function countCommand(
  { what, topic, count }: CountWanted,
  flags: CountFlags,
  output: Output,
  open: () => Promise<Operations>,
  change: Change,
): Promise<number> {
  if (topic === undefined || count === undefined || !/^\d+$/.test(count))
    return usageError(`Name a topic and a number of ${what}.`, output);
  if (flags.dryRun === true)
    return usageError('This command has no dry run: it waits for relays and consumers.', output);
  const timeout = timeoutOf(flags);
  if (timeout === 'invalid') return usageError('--timeout takes a duration such as 60s.', output);
  const question = `Change the number of ${what} of "${topic}" to ${count}? It is not delivered meanwhile.`;
  const refused = await refusedConsent(flags, question, output);
  if (refused !== undefined) return refused;
  const at = await open();
  try {
    const options = { ...optionsOf(flags), ...(timeout !== undefined && { timeout }) };
    const answer = await withKnownNames(at, { topic }, () => change(at, topic, Number(count), options));
    return tell(answer, { what, topic, count }, output);
  } finally {
    await at.close();
  }
}

const waits = {
  deliveries: 'A relay is still sending',
  transactions: 'Transactions that began before the change are still open',
  messages: 'Messages are locked by other transactions',
  consumers: 'Consumers have not passed all messages yet',
};

function tell(answer: TopicChangeAnswer, { what, topic, count }: CountWanted, output: Output): number {
  output.value({ ok: answer.done, ...answer });
  if (answer.done) {
    output.line(
      `"${topic}" has ${count} ${what}${answer.moved > 0 ? `; ${answer.moved} messages moved` : ''}.`,
    );
    return exitCodes.ok;
  }
  output.line(
    `${waits[answer.waitingFor]}${answer.who.length > 0 ? `: ${printable(answer.who.join(', '))}` : ''}.`,
  );
  output.line(`"${topic}" is not delivered until the change is complete: repeat the command.`);
  return exitCodes.partial;
}
