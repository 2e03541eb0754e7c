import { type Due, dueOf, outOfRange } from '../core/due.ts';
import { OutboxError } from '../core/errors.ts';
import { isObject } from '../core/options/collections.ts';
import { assertOptions } from '../core/options/option-table.ts';
import { assertTopic, type Topic } from '../core/topic.ts';
import { uuid } from '../core/uuid.ts';
import { partOf } from '../store/database/pending-writes.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { cancelKey, cancelMessage, type MessageHandle, rescheduleMessage } from '../store/message/write.ts';
import { assertIdentifier } from './prepare.ts';

/** `'too-late'`: it is being delivered, was delivered, or ended otherwise. `'unknown'`: no such message. */
export type CancelAnswer = 'canceled' | 'too-late' | 'unknown';
/** `'too-late'`: it is not, or no longer, waiting. `'unknown'`: no such message. */
export type RescheduleAnswer = 'rescheduled' | 'too-late' | 'unknown';

/**
 * Cancels a message that is waiting, retrying, or blocked. A ref means the waiting message of that ref, else the newest.
 *
 * `'canceled'` is provisional until the transaction commits, and then final: the message is never published (except by a
 * relay that was frozen while sending, beyond its lease). Under REPEATABLE READ a lost race is a serialization error.
 *
 * A key means all of its messages that can be canceled, in one statement; the answer is their number. One that is ready, or may
 * have been published, stays, as does one that another transaction commits meanwhile.
 *
 * @param handle the ref, `{ id }` or `{ key }`
 * @throws OutboxError `OUTBOX_REF_INVALID`, `OUTBOX_ID_INVALID` or `OUTBOX_KEY_INVALID`; the transaction stays usable
 */
export function cancel(
  tx: Transaction,
  topic: Topic,
  handle: string | { readonly id: string },
): Promise<CancelAnswer>;
/** Cancels all messages of a key that can be canceled. @returns their number */
export function cancel(tx: Transaction, topic: Topic, handle: { readonly key: string }): Promise<number>;
export function cancel(
  tx: Transaction,
  topic: Topic,
  handle: string | { readonly id: string } | { readonly key: string },
): Promise<CancelAnswer | number> {
  return partOf(tx, async () => {
    assertTopic('cancel', topic);
    if (isKey(handle)) {
      assertOptions('a handle', handle, ['key']);
      assertIdentifier('OUTBOX_KEY_INVALID', 'key', handle.key);
      return cancelKey(sqlOf(tx), topic.name, handle.key);
    }
    return cancelMessage(sqlOf(tx), topic.name, handleOf(handle));
  });
}

/**
 * Moves the due time of a waiting message; `after: 0` means now. The last committed time wins.
 *
 * @throws OutboxError `OUTBOX_EXPIRY_BEFORE_DUE` if it will have expired by then, `OUTBOX_DELAY_OUT_OF_RANGE`, `OUTBOX_REF_INVALID`
 * or `OUTBOX_ID_INVALID`; nothing is moved, and the transaction stays usable
 */
export function reschedule(
  tx: Transaction,
  topic: Topic,
  handle: string | { readonly id: string },
  due: Due,
): Promise<RescheduleAnswer> {
  return partOf(tx, () => moveDue(tx, topic, handle, due));
}

async function moveDue(
  tx: Transaction,
  topic: Topic,
  handle: string | { readonly id: string },
  due: Due,
): Promise<RescheduleAnswer> {
  assertTopic('reschedule', topic);
  assertOptions('reschedule', due, ['after', 'at']);
  const target = dueOf(due, topic.rules.delayLimitMs);
  if (target.afterMs === undefined && target.at === undefined) {
    throw new OutboxError('OUTBOX_OPTION_INVALID', 'Neither "after" nor "at" is given.', {
      details: { option: 'after' },
    });
  }
  const answer = await rescheduleMessage(sqlOf(tx), topic.name, handleOf(handle), target);
  if (answer === 'out-of-range')
    throw outOfRange(
      due.at === undefined ? 'after' : 'at',
      String(due.at ?? due.after),
      topic.rules.delayLimitMs,
    );
  if (answer === 'past-expiry')
    throw new OutboxError('OUTBOX_EXPIRY_BEFORE_DUE', 'The message will have expired by the new due time.', {
      details: { topic: topic.name, ...(typeof handle === 'string' ? { ref: handle } : { id: handle.id }) },
    });
  return answer;
}

function isKey(
  handle: string | { readonly id: string } | { readonly key: string },
): handle is { readonly key: string } {
  return isObject(handle) && 'key' in handle;
}

function handleOf(handle: string | { readonly id: string }): MessageHandle {
  if (typeof handle === 'string') {
    assertIdentifier('OUTBOX_REF_INVALID', 'ref', handle);
    return { ref: handle };
  }
  assertOptions('a handle', handle, ['id']);
  if (uuid.test(handle.id)) return { id: handle.id };
  throw new OutboxError('OUTBOX_ID_INVALID', `The id "${handle.id}" is not a UUID.`, {
    details: { id: handle.id },
  });
}
