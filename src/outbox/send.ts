import { OutboxError } from '../core/errors.ts';
import { isObject } from '../core/options/collections.ts';
import { assertTopic, type Topic } from '../core/topic.ts';
import type { State } from '../core/transitions.ts';
import { partOf } from '../store/database/pending-writes.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import type { NewMessage } from '../store/message/new-message.ts';
import { storeMessages } from '../store/message/write.ts';
import { countStored } from '../telemetry/sender-metrics.ts';
import { spans } from '../telemetry/spans.ts';
import { type MessageOptions, prepare, type SendOptions } from './prepare.ts';
import { noteReady } from './ready-lanes.ts';
import { warnOfUnannounced } from './unannounced.ts';

/** A message as it was stored. */
export interface Stored {
  /** UUID; it travels to the consumer. */
  readonly id: string;
  /** The Temporal workflow that delivers it: its lane's, or its own while it waits. */
  readonly workflowId: string;
  /** `ready`, or `waiting` for its due time; for a duplicate its current state. */
  readonly state: State;
  /** When it is due; `null`: at once. */
  readonly dueAt: Date | null;
  /** True if the same message was already stored; nothing was written now. */
  readonly duplicate: boolean;
}

/** One message of a batch: a payload and the options of `send`, but for `replace`. */
export type BatchMessage<Input> = MessageOptions & { readonly payload: Input };

/**
 * Stores a message in the caller's transaction. It is delivered if, and only if, that transaction commits.
 *
 * A message that is sent after another one of its key was committed is delivered after it. Concurrent sends have no order,
 * unless the transactions lock the same business row first. A delayed message gets its position in the order when it is due.
 *
 * @throws OutboxError for bad input. Nothing is written, and the transaction stays usable.
 */
export function send<Input>(
  tx: Transaction,
  topic: Topic<Input, unknown>,
  payload: Input,
  options: SendOptions = {},
): Promise<Stored> {
  return partOf(tx, async () => {
    assertTopic('send', topic);
    return spans.send(
      topic.name,
      1,
      async () => {
        const [stored] = await store(tx, topic.name, [await prepare(topic, payload, options)]);
        if (stored === undefined) throw new Error('The database returned no row for a stored message.');
        return stored;
      },
      ({ id }) => id,
    );
  });
}

/**
 * Stores many messages of one topic in order, all or none, with one statement.
 *
 * @throws OutboxError for bad input of any message; `details.index` is its index, from 0. Nothing is written.
 */
export function sendBatch<Input>(
  tx: Transaction,
  topic: Topic<Input, unknown>,
  messages: readonly BatchMessage<Input>[],
): Promise<readonly Stored[]> {
  return partOf(tx, async () => {
    assertTopic('sendBatch', topic);
    const given: unknown = messages;
    if (!Array.isArray(given)) throw invalid('messages', 'sendBatch takes a list of messages.');
    if (messages.length === 0) return [];
    return spans.send(
      topic.name,
      messages.length,
      async () => {
        const prepared: NewMessage[] = [];
        for (const [index, message] of messages.entries()) {
          // In turn, so that the error names the first bad message.
          prepared.push(await prepareAt(index, topic, message));
        }
        return store(tx, topic.name, prepared);
      },
      ([stored]) => stored?.id,
    );
  });
}

async function store(
  tx: Transaction,
  topic: string,
  messages: readonly NewMessage[],
): Promise<readonly Stored[]> {
  const answers = await storeMessages(sqlOf(tx), topic, messages);
  for (const { n, refusal } of answers) {
    if (refusal !== null) {
      throw new OutboxError(refusal.code, refusal.message, {
        details: { ...refusal.details, topic, index: n - 1 },
      });
    }
  }
  noteReady(tx, answers);
  countStored(topic, answers.filter(({ duplicate }) => !duplicate).length);
  if (answers.some(({ unannounced }) => unannounced)) warnOfUnannounced(topic);
  return answers.map(({ id, workflowId, state, dueAt, duplicate }) => ({
    id,
    workflowId,
    state,
    dueAt,
    duplicate,
  }));
}

async function prepareAt<Input>(
  index: number,
  topic: Topic<Input, unknown>,
  message: BatchMessage<Input>,
): Promise<NewMessage> {
  try {
    if (!isObject(message)) throw invalid('messages', 'It is not an object with a payload.');
    const { payload, ...options } = message;
    if ('replace' in options) throw invalid('replace', 'Only send knows the option "replace".');
    return await prepare(topic, payload, options);
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error;
    throw new OutboxError(error.code, `Message ${index}: ${error.message}`, {
      details: { ...error.details, index },
      cause: error,
    });
  }
}

function invalid(option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', what, { details: { option } });
}
