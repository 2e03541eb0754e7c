import type { ConsumeMessage } from 'amqplib';
import { keyHeader } from '../../rabbitmq/key-header.ts';
import { incomingMessage } from '../incoming-message.ts';
import type { IncomingMessage } from '../source.ts';

/**
 * A message as a queue delivered it.
 *
 * A queue has no places. What stands for one is the id that its sender gave the message, so that it is the same at every
 * delivery; without one it is the number of this delivery, which is another the next time.
 *
 * @param channel names the channel among all that there ever are
 */
export function receivedDelivery(
  address: string,
  { content, fields, properties }: ConsumeMessage,
  channel: string,
): IncomingMessage {
  const headers: Record<string, string> = {};
  let key: string | null = null;
  for (const [name, value] of Object.entries<unknown>(properties.headers ?? {})) {
    if (name === keyHeader) key = textOf(value);
    else headers[name] = textOf(value);
  }
  // What other senders made of it.
  const contentType: unknown = properties.contentType;
  const messageId: unknown = properties.messageId;
  const timestamp: unknown = properties.timestamp;
  if (typeof contentType === 'string') headers['content-type'] = contentType;
  return incomingMessage({
    address,
    partition: 0,
    offset:
      typeof messageId === 'string' && messageId !== '' ? messageId : `${channel}.${fields.deliveryTag}`,
    key,
    body: content,
    headers,
    timestamp: typeof timestamp === 'number' ? new Date(timestamp * 1_000) : new Date(),
  });
}

/** Headers of other senders may be numbers, times, bytes, tables. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Buffer.isBuffer(value)) return value.toString();
  return JSON.stringify(value) ?? '';
}
