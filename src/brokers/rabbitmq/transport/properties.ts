import type { Options } from 'amqplib';
import { statedTime } from '../../../core/written-time.ts';
import type { OutgoingMessage } from '../../transport.ts';
import { keyHeader } from '../client/key-header.ts';

/** The AMQP properties of a message: id, timestamp and content type; its key and other headers are in the header table. */
export function propertiesOf({ headers, id, key }: OutgoingMessage): Options.Publish {
  const { 'content-type': contentType, ...table }: Record<string, string> = headers;
  if (key !== null) table[keyHeader] = key;
  return {
    mandatory: true,
    persistent: true,
    messageId: id,
    timestamp: secondsOf(headers['ce_time']),
    headers: table,
    ...(contentType !== undefined && { contentType }),
  };
}

/** When the message was written, or now. */
function secondsOf(time: string | undefined): number {
  return Math.floor((statedTime(time)?.getTime() ?? Date.now()) / 1_000);
}
