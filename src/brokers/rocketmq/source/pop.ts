import type { ServiceError } from '@grpc/grpc-js';
import type { Message } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb.js';
import type { ReceiveMessageResponse } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_pb.js';
import { clientLibrary } from '../client/client-library.ts';
import { NoAnswer, type RefusedRequest } from '../client/failure.ts';
import { protocolDuration } from '../client/protocol-duration.ts';
import { type Proxies, statusName, statusRefusal } from '../client/proxies.ts';
import { endpointsOf, type RoutedBroker, resource } from '../client/route.ts';

/** The most messages that a broker returns at once. */
export const largestPop = 32;
/** The shortest long polling time that proxies accept. */
const pollMs = 5_000;

/** A request for messages. */
export interface PopRequest {
  readonly topic: string;
  readonly group: string;
  readonly broker: RoutedBroker;
  /** 1 to {@link largestPop}. */
  readonly count: number;
  /** Reused after a lost answer: for a group with order, the broker then returns the same messages again. */
  readonly attemptId: string;
}

/**
 * Receives messages from the queues of one broker, waiting up to five seconds for the first. They are invisible to other
 * members until their time is over.
 *
 * @throws NoAnswer, RefusedRequest; after the signal has fired it resolves with what has arrived
 */
export async function pop(
  proxies: Proxies,
  { attemptId, broker, count, group, topic }: PopRequest,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  const { definitions, requests } = clientLibrary();
  const { invisibleMs, requestTimeoutMs } = proxies.connection;
  const { endpoint } = broker;
  const target = new definitions.Broker().setName(broker.name).setId(0).setEndpoints(endpointsOf(endpoint));
  const queue = new definitions.MessageQueue()
    .setTopic(resource(proxies, topic))
    // Any queue of the broker.
    .setId(-1)
    .setPermission(definitions.Permission.READ_WRITE)
    .setBroker(target);
  const request = new requests.ReceiveMessageRequest()
    .setGroup(resource(proxies, group))
    .setMessageQueue(queue)
    .setFilterExpression(
      new definitions.FilterExpression().setType(definitions.FilterType.TAG).setExpression('*'),
    )
    .setBatchSize(count)
    .setAutoRenew(false)
    .setInvisibleDuration(protocolDuration(invisibleMs))
    .setLongPollingTimeout(protocolDuration(pollMs))
    .setAttemptId(attemptId);
  const deadline = Date.now() + pollMs + Math.max(requestTimeoutMs, 1_000);
  return new Promise((resolve, reject) => {
    const stream = proxies.client(endpoint).receiveMessage(request, proxies.metadata(), { deadline });
    const messages: Message[] = [];
    let refusal: RefusedRequest | undefined;
    const cancel = (): void => stream.cancel();
    const end = (): void => signal.removeEventListener('abort', cancel);
    signal.addEventListener('abort', cancel, { once: true });
    stream.on('data', (part: ReceiveMessageResponse) => {
      const message = part.getMessage();
      if (message !== undefined) messages.push(message);
      else if (part.hasStatus()) refusal = refusalIn(part);
    });
    stream.on('end', () => {
      end();
      if (refusal !== undefined && messages.length === 0) reject(refusal);
      else resolve(messages);
    });
    stream.on('error', (error: ServiceError) => {
      end();
      // Messages that arrived before the stream broke are leased to this member.
      if (signal.aborted || messages.length > 0) resolve(messages);
      else reject(new NoAnswer(endpoint, error));
    });
    if (signal.aborted) cancel();
  });
}

function refusalIn(part: ReceiveMessageResponse): RefusedRequest | undefined {
  const status = part.getStatus();
  if (status === undefined || statusName(status) === 'MESSAGE_NOT_FOUND') return undefined;
  return statusRefusal(status);
}
