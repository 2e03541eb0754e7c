import type { Message, RecordMetadata } from 'kafkajs';
import type { OutgoingMessage } from '../transport.ts';
import type { KafkaClient } from './client.ts';
import { classify, isStaleMetadata, isTimeout, type KafkaFailure } from './failure.ts';
import type { ProducerSession } from './session.ts';

/** Messages of one partition, to be stored as one record batch. */
export interface ProduceRequest {
  readonly address: string;
  readonly partition: number;
  readonly messages: readonly OutgoingMessage[];
}

/** Where the first message of a stored batch is; the others follow without a gap. */
export interface StoredAt {
  readonly kind: 'stored';
  readonly baseOffset: bigint;
}

const allInSyncReplicas = -1;

/** Sends one batch to one partition, once, and says what became of it. Never throws. */
export async function produce(
  client: KafkaClient,
  request: ProduceRequest,
  timeoutMs: number,
): Promise<StoredAt | KafkaFailure> {
  const first = await attempt(client, request, timeoutMs);
  // Nothing was sent, and the client has just learned who leads now: no reason to hold the topic yet.
  if ('unsent' in first) return settled(await attempt(client, request, timeoutMs));
  return settled(first);
}

/** Nothing left the process, because the client knew no leader for the partition; it has asked again since. */
interface Unsent {
  readonly unsent: KafkaFailure;
}

function settled(result: StoredAt | KafkaFailure | Unsent): StoredAt | KafkaFailure {
  return 'unsent' in result ? result.unsent : result;
}

async function attempt(
  client: KafkaClient,
  request: ProduceRequest,
  timeoutMs: number,
): Promise<StoredAt | KafkaFailure | Unsent> {
  const flight = { written: false };
  let session: ProducerSession | undefined;
  try {
    return await client.use(async (current) => {
      session = current;
      const answers = await current.producer.send({
        acks: allInSyncReplicas,
        messages: kafkaMessages(request, () => {
          flight.written = true;
        }),
        timeout: timeoutMs,
        topic: request.address,
      });
      return stored(answers, request, current);
    });
  } catch (error) {
    const openConnections = session?.openConnections ?? 0;
    if (isTimeout(error) || openConnections === 0) session?.retire();
    if (isStaleMetadata(error) && !flight.written) return { unsent: withoutLeader(request) };
    return classify(error, { written: flight.written, connected: openConnections > 0 });
  }
}

/** kafkajs silently leaves out partitions that its metadata does not know. */
function stored(
  answers: readonly RecordMetadata[],
  request: ProduceRequest,
  session: ProducerSession,
): StoredAt | Unsent {
  const [answer] = answers;
  if (answer === undefined) {
    session.retire();
    return { unsent: withoutLeader(request) };
  }
  const { topicName, partition, errorCode, baseOffset } = answer;
  if (
    answers.length > 1 ||
    topicName !== request.address ||
    partition !== request.partition ||
    errorCode !== 0
  ) {
    throw new Error(
      `Kafka answered for ${topicName}/${partition} with code ${errorCode} to a batch for another partition.`,
    );
  }
  if (baseOffset === undefined) throw new Error('Kafka acknowledged a batch without an offset.');
  return { kind: 'stored', baseOffset: BigInt(baseOffset) };
}

function withoutLeader({ address, partition }: ProduceRequest): KafkaFailure {
  return {
    kind: 'hold',
    reason: `Partition ${partition} of topic ${address} has no leader now, does not exist or may not be written to.`,
    scope: 'topic',
    stored: false,
  };
}

/**
 * The messages as kafkajs takes them. It reads the time of each when it encodes the request, which is the last thing
 * it does before it writes it to a connected socket: `onEncode` tells that moment, which no error of kafkajs does.
 */
function kafkaMessages(request: ProduceRequest, onEncode: () => void): Message[] {
  const { partition } = request;
  const messages: Message[] = request.messages.map(({ key, payload, headers }) => ({
    headers,
    key,
    partition,
    value: payload,
  }));
  const [first] = messages;
  if (first !== undefined) {
    Object.defineProperty(first, 'timestamp', {
      enumerable: true,
      get: () => {
        onEncode();
        return undefined;
      },
    });
  }
  return groupedAlready(messages, partition);
}

/**
 * kafkajs groups messages by partition with `reduce`, and copies the whole group for each message: a tenth of the
 * time of a batch of 2,000. All of these are of one partition, so the grouping is known.
 */
function groupedAlready(messages: Message[], partition: number): Message[] {
  return Object.defineProperty(messages, 'reduce', { value: () => ({ [partition]: messages }) });
}
