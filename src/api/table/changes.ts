import type { RequestOperations, RequestWay } from '../../app/operations/served-operations.ts';
import { OutboxError } from '../../core/errors.ts';
import type { SparseTable } from '../../core/options/collections.ts';
import { type MessageAnswer, refusals, type Target } from '../../operations/change.ts';
import { namedMessages, ofMessage } from '../../operations/inputs/messages.ts';
import type { Inputs } from '../../operations/inputs/values.ts';
import { whatRemains } from '../../operations/messages/what-remains.ts';
import type { OperationOptions } from '../../operations/operation-options.ts';
import { type Declaration, rightsAndWords } from '../declared-request.ts';
import { assertNamesKnown } from '../known.ts';
import { type AuthoredBody, type Call, type Operation, operation } from '../operation.ts';

/** A change that is made to several messages, or to one. */
interface SpokenChange<Options extends Inputs> {
  readonly verb: 'cancel' | 'discard' | 'expunge' | 'reschedule' | 'retry' | 'withdraw';
  readonly declared: Declaration & { readonly options: Options };
  readonly way: RequestWay;
  readonly change: (
    at: RequestOperations,
    target: Target,
    options: OperationOptions,
    body: SparseTable<Options>,
  ) => Promise<readonly MessageAnswer<string>[]>;
}

/** The operation on several messages, and that on one, which answers a refusal with an error. */
export function changes<Options extends Inputs>({
  change,
  declared,
  verb,
  way,
}: SpokenChange<Options>): readonly Operation[] {
  const { summary, ...rights } = rightsAndWords(declared);
  const shared = { method: 'POST', way, once: true, ...rights } as const;
  const made = (call: Call, target: Target, body: AuthoredBody) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both bodies have these options
    change(call.at, target, call.author(body), body as SparseTable<Options>);
  return [
    operation({
      ...shared,
      name: `${verb}Messages`,
      path: `/messages/${verb}`,
      summary: `${summary} By ids, or the one of a topic and ref.`,
      body: { ...declared.options, ...namedMessages },
      answer: 'MessageAnswers',
      unfinished: onlyBusy,
      run: async (call, { body }) => ({
        answers: await changeSeen(call, body, (target) => made(call, target, body)),
      }),
    }),
    operation({
      ...shared,
      name: `${verb}Message`,
      path: `/messages/{id}/${verb}`,
      summary: `${summary} One message.`,
      params: ofMessage,
      body: declared.options,
      answer: 'MessageAnswer',
      async run(call, { body, path: { id } }) {
        await requireSeen(call, id);
        const [answer] = await made(call, { ids: [id] }, body);
        if (answer === undefined || answer.result === 'unknown') throw messageUnknown(id);
        if (refusals.has(answer.result)) throw refused(verb, id, answer);
        return answer;
      },
    }),
  ];
}

/** Nothing was done, and something may be done soon. What was done is not to be done twice, so then the answer counts for all. */
export function onlyBusy(given: object): boolean {
  const answers: readonly { readonly result: string }[] =
    'answers' in given && Array.isArray(given.answers) ? given.answers : [];
  return (
    answers.some(({ result }) => result === 'busy') && answers.every(({ result }) => refusals.has(result))
  );
}

type Named = SparseTable<typeof namedMessages>;

/** Changes the messages that the caller sees. The others do not exist for it, and the audit has that it named them. */
async function changeSeen(
  call: Call,
  { ids, ref, topic }: Named,
  change: (target: Target) => Promise<readonly MessageAnswer<string>[]>,
): Promise<readonly MessageAnswer<string>[]> {
  const { at, author, scope } = call;
  if (ids !== undefined && (topic !== undefined || ref !== undefined))
    throw new OutboxError('OUTBOX_REQUEST_INVALID', 'Name messages by "ids", or by "topic" and "ref".');
  if (ids === undefined) {
    if (topic === undefined || ref === undefined)
      throw new OutboxError('OUTBOX_REQUEST_INVALID', 'Name messages by "ids", or by "topic" and "ref".');
    // For an unknown ref there is no answer, and so for those of another topic.
    const seen = scope.sees(topic);
    if (!seen)
      await at.note({
        ...author({}),
        action: 'request',
        messageId: null,
        topic,
        result: 'denied',
        details: { ref },
      });
    const answers = seen ? await change({ topic, ref }) : [];
    if (answers.length === 0) await assertNamesKnown(call, { topic });
    return answers;
  }
  if (!scope.limited) return change({ ids });
  const topics = await at.topicsOf(ids);
  const seen = ids.filter((id) => scope.sees(topics.get(id)));
  const answers = seen.length === 0 ? [] : await change({ ids: seen });
  const answered = new Map(answers.map((answer) => [answer.id, answer]));
  for (const id of new Set(ids.filter((each) => topics.has(each) && !seen.includes(each))))
    await at.note({
      ...author({}),
      action: 'request',
      messageId: id,
      topic: topics.get(id) ?? null,
      result: 'denied',
    });
  return [...new Set(ids)].map(
    (id) => answered.get(id) ?? { id, topic: null, lane: null, result: 'unknown', state: null },
  );
}

/** @throws Denied if it is of a topic that the caller does not see */
export async function requireSeen({ at, scope }: Call, id: string): Promise<void> {
  if (scope.limited) scope.require((await at.topicsOf([id])).get(id), messageUnknown(id));
}

/** The error for a message that there is not. */
export function messageUnknown(id: string): OutboxError {
  return new OutboxError('OUTBOX_MESSAGE_UNKNOWN', `There is no message ${id}.`, { details: { id } });
}

/** Refusals for another reason than the state. */
const otherwise: Readonly<Record<string, string>> = {
  busy: 'another transaction or relay has it in hand',
  'past-expiry': 'it will have expired by then',
  expired: 'it has expired',
};

function refused(verb: string, id: string, { result, state }: MessageAnswer<string>): OutboxError {
  if (result === 'out-of-range')
    return new OutboxError(
      'OUTBOX_DELAY_OUT_OF_RANGE',
      `Nothing was done to the message ${id}: the time is beyond the longest delay of its topic.`,
      { details: { id } },
    );
  const why = otherwise[result] ?? `it is ${state}: ${whatRemains(verb, state)}`;
  const code = result === 'busy' ? 'OUTBOX_MESSAGE_BUSY' : 'OUTBOX_CONFLICT';
  return new OutboxError(code, `Nothing was done to the message ${id}, because ${why}.`, {
    details: { id, state, result },
  });
}
