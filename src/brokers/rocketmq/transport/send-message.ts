import { hostname } from 'node:os';
import type { SendMessageResponse } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_pb.js';
import type { OutgoingMessage } from '../../transport.ts';
import { clientLibrary } from '../client/client-library.ts';
import { RefusedRequest } from '../client/failure.ts';
import { toProperties } from '../client/properties.ts';
import { assertDone, type Proxies } from '../client/proxies.ts';
import { resource } from '../client/route.ts';
import { messageGroupOf } from './message-group.ts';
import type { SendRoute } from './routes.ts';

/**
 * Sends one message, without retries, and resolves when a broker has stored it.
 *
 * @throws NoAnswer, RefusedRequest
 */
export async function sendMessage(
  proxies: Proxies,
  route: SendRoute,
  topic: string,
  message: OutgoingMessage,
  tag: string | undefined,
): Promise<void> {
  const { definitions, requests, timestamps } = clientLibrary();
  const { fifo } = route;
  const { id, key, headers, payload } = message;
  // The group of a message without a key is its id, by which the receiver recognizes that there is no key.
  const ownGroup = key === null ? id : messageGroupOf(key);
  const group = fifo ? ownGroup : undefined;
  const system = new definitions.SystemProperties()
    .setMessageId(id)
    .setKeysList([id])
    .setMessageType(fifo ? definitions.MessageType.FIFO : definitions.MessageType.NORMAL)
    .setBodyEncoding(definitions.Encoding.IDENTITY)
    .setBornTimestamp(timestamps.Timestamp.fromDate(new Date()))
    .setBornHost(hostname());
  if (group !== undefined) system.setMessageGroup(group);
  if (tag !== undefined) system.setTag(tag);
  const sent = new definitions.Message()
    .setTopic(resource(proxies, topic))
    .setSystemProperties(system)
    .setBody(Buffer.from(payload));
  const properties = sent.getUserPropertiesMap();
  for (const [name, value] of toProperties(key, headers)) properties.set(name, value);
  const request = new requests.SendMessageRequest().setMessagesList([sent]);
  const answer = await proxies.ask<SendMessageResponse>(
    route.endpointOf(group),
    (client, metadata, options, done) => client.sendMessage(request, metadata, options, done),
  );
  assertDone(answer.getStatus());
  const [entry] = answer.getEntriesList();
  if (entry === undefined)
    throw new RefusedRequest('CODE_UNSPECIFIED', 'The proxy answered nothing about the message.');
  assertDone(entry.getStatus());
}
