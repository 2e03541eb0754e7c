import { OutboxError } from '../core/errors.ts';
import type { Topic } from '../core/topic.ts';
import type { State } from '../core/transitions.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { type NewMessage, storeMessages } from '../store/message/write.ts';
import { prepare, type SendOptions } from './prepare.ts';
import { noteReady } from './ready-lanes.ts';

/** A message as it was stored. */
export interface Stored {
  /** UUID; it travels to the consumer. */
  readonly id: string;
  /** The Temporal workflow that delivers it: its lane's, or its own while it waits. */
  readonly workflowId: string;
  /** `ready`, or `waiting` for its due time; of a duplicate its state now. */
  readonly state: State;
  /** When it is due; null: at once. */
  readonly dueAt: Date | null;
  /** True when the same message had been stored before; nothing was written now. */
  readonly duplicate: boolean;
}

/** One message of a batch: a payload and the options of `send`. */
export type BatchMessage<Input> = SendOptions & { readonly payload: Input };

/**
 * Stores a message in the caller's transaction. It is delivered if, and only if, that transaction commits.
 *
 * Of two sends of one key, one that started after the other had committed is delivered after it. Concurrent sends
 * have no order, unless the business row was locked first. A delayed message takes its place when it becomes due.
 *
 * @throws OutboxError for bad input. Nothing is written, and the transaction stays usable.
 */
export async function send<Input>(
  tx: Transaction,
  topic: Topic<Input, unknown>,
  payload: Input,
  options: SendOptions = {},
): Promise<Stored> {
  const [stored] = await store(tx, topic.name, [await prepare(topic, payload, options)]);
  if (stored === undefined) throw new Error('The database answered no row for a stored message.');
  return stored;
}

/**
 * Stores many messages of one topic in their order, all or none, by one statement.
 *
 * @throws OutboxError for bad input of any message; `details.index` tells which, from 0. Nothing is written.
 */
export async function sendBatch<Input>(
  tx: Transaction,
  topic: Topic<Input, unknown>,
  messages: readonly BatchMessage<Input>[],
): Promise<readonly Stored[]> {
  const prepared: NewMessage[] = [];
  for (const [index, { payload, ...options }] of messages.entries()) {
    // In turn, so that the first bad message is the one that is named.
    prepared.push(await prepareAt(index, topic, payload, options));
  }
  return prepared.length === 0 ? [] : store(tx, topic.name, prepared);
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
  payload: Input,
  options: SendOptions,
): Promise<NewMessage> {
  try {
    return await prepare(topic, payload, options);
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error;
    throw new OutboxError(error.code, `Message ${index}: ${error.message}`, {
      details: { ...error.details, index },
      cause: error,
    });
  }
}
