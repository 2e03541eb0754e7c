import type { Message } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb.js';
import { incomingMessage } from '../../incoming-message.ts';
import type { IncomingMessage } from '../../source.ts';
import { fromProperties } from '../client/properties.ts';

/** A message that is invisible to other members until its time is over or renewed. */
export interface LeasedMessage {
  readonly incoming: IncomingMessage;
  readonly messageId: string;
  readonly endpoint: string;
  /** What it takes in memory, about: its body and properties. */
  readonly bytes: number;
  /** The receipt handle of this delivery; every renewal returns a new one. */
  receipt: string;
  /** End of the invisible time, by `performance.now()`. */
  untilMs: number;
  /** Earliest time of the next offer, by `performance.now()`. */
  notBeforeMs: number;
  /** Its time is over: the broker delivers it again, or has done so. */
  lost: boolean;
  /** Handled and about to be acknowledged: no longer renewed. */
  done: boolean;
  /** The latest renewal; never rejects. */
  renewing?: Promise<void>;
}

/** Makes a leased message from a received one. */
export function leasedMessage(
  message: Message,
  {
    address,
    endpoint,
    partition,
    untilMs,
  }: { address: string; endpoint: string; partition: number; untilMs: number },
): LeasedMessage {
  const system = message.getSystemProperties();
  const properties = message.getUserPropertiesMap().toArray();
  const { key, headers } = fromProperties(properties);
  const body = message.getBody_asU8();
  const group = system?.getMessageGroup() ?? '';
  // The message group of an outbox message without a key is its id, which other senders may use as a business key.
  const own = headers['ce_id'] === group;
  return {
    incoming: incomingMessage({
      address,
      partition,
      offset: String(system?.getQueueOffset() ?? 0),
      key: key ?? (group === '' || own ? null : group),
      body,
      headers,
      timestamp: system?.getStoreTimestamp()?.toDate() ?? new Date(),
    }),
    messageId: system?.getMessageId() ?? '',
    endpoint,
    bytes: properties.reduce((sum, [name, value]) => sum + name.length + value.length, body.length),
    receipt: system?.getReceiptHandle() ?? '',
    untilMs,
    notBeforeMs: 0,
    lost: false,
    done: false,
  };
}
