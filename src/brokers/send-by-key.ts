import { reasonOf } from '../core/reason.ts';
import { givenUp } from './given-up.ts';
import type { Hold, OutgoingBatch, OutgoingMessage, PublishOutcome, PublishResult } from './transport.ts';

/** The outcome of one message; a hold stops the batch. */
export type SendOutcome =
  | Exclude<PublishOutcome, { readonly kind: 'blocked' | 'deferred' }>
  | {
      readonly kind: 'hold';
      readonly hold: Hold;
      /** Whether this message may have been stored nevertheless. */
      readonly onWire: boolean;
    };

/** Sends one message and resolves with its outcome. A rejection counts as `ambiguous`. */
export type SendOne = (message: OutgoingMessage) => SendOutcome | Promise<SendOutcome>;

/** The messages of one key. */
interface KeyQueue {
  /** Their indexes in the batch. */
  readonly indexes: number[];
  /** How many of them have been sent. */
  sent: number;
}

const unsent: PublishOutcome = { kind: 'deferred', onWire: false };
/**
 * Publishes a batch message by message, for transports whose servers answer each message separately. Messages of a key are
 * sent one at a time, so that none overtakes a refused one; up to `concurrency` of different keys, or without a key, are
 * sent concurrently.
 *
 * After a hold, or when the batch is given up, nothing more is sent; messages in flight are awaited.
 *
 * @param concurrency 1 or more
 */
export async function sendByKey(
  { messages, signal }: Pick<OutgoingBatch, 'messages' | 'signal'>,
  concurrency: number,
  send: SendOne,
): Promise<PublishResult> {
  const outcomes: PublishOutcome[] = Array.from(messages, () => unsent);
  const queues = queuesOf(messages);
  let taken = 0;
  let hold: Hold | undefined;
  const work = async (): Promise<void> => {
    for (let queue = queues[taken]; queue !== undefined; queue = queues[taken]) {
      if (hold !== undefined || signal.aborted) return;
      taken += 1;
      const index = queue.indexes[queue.sent];
      const message = messages[index ?? -1];
      if (index === undefined || message === undefined) continue;
      queue.sent += 1;
      const outcome = await sendOne(send, message);
      outcomes[index] = outcome.kind === 'hold' ? { kind: 'deferred', onWire: outcome.onWire } : outcome;
      if (outcome.kind === 'hold') hold ??= outcome.hold;
      else if (outcome.kind === 'acknowledged') queues.push(queue);
      else for (const follower of queue.indexes.slice(queue.sent)) outcomes[follower] = { kind: 'blocked' };
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, queues.length) }, work));
  if (hold === undefined && outcomes.some(({ kind }) => kind === 'deferred')) hold = givenUp;
  return hold === undefined ? { outcomes } : { outcomes, hold };
}

/** A queue per key, and one for each message without a key, in the order of their first messages. */
function queuesOf(messages: readonly OutgoingMessage[]): KeyQueue[] {
  const queues: KeyQueue[] = [];
  const byKey = new Map<string, KeyQueue>();
  for (const [index, { key }] of messages.entries()) {
    const known = key === null ? undefined : byKey.get(key);
    if (known !== undefined) {
      known.indexes.push(index);
      continue;
    }
    const queue = { indexes: [index], sent: 0 };
    queues.push(queue);
    if (key !== null) byKey.set(key, queue);
  }
  return queues;
}

async function sendOne(send: SendOne, message: OutgoingMessage): Promise<SendOutcome> {
  try {
    return await send(message);
  } catch (error) {
    return { kind: 'ambiguous', error: reasonOf(error) };
  }
}
