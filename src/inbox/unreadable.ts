import { OutboxError } from '../core/errors.ts';
import type { IncomingMessage } from '../sources/source.ts';

/** The error of a message that cannot be understood. Its text never quotes the body. */
export function unreadable(message: IncomingMessage, why: string, cause?: unknown): OutboxError {
  const { address, partition, offset } = message;
  return new OutboxError(
    'OUTBOX_MESSAGE_UNREADABLE',
    `The message at ${address}/${partition}, offset ${offset}, cannot be read: ${why}.`,
    { cause, details: { address, partition, offset } },
  );
}
