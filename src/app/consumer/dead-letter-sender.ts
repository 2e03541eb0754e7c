import { isUtf8 } from 'node:buffer';
import type { OutgoingMessage, PublishOutcome, Transport } from '../../brokers/transport.ts';
import { type Config, transportOf } from '../../config/config.ts';
import { reasonOf } from '../../core/reason.ts';
import type { Topic } from '../../core/topic.ts';
import type { DeadLetter, DeadLetterSender, LetterOutcome } from '../../inbox/parked/dead-letter.ts';

/** Makes senders of failed messages' copies: they use the transport of the topics. */
export function deadLetterSendersOf(
  config: Pick<Config, 'transports'>,
): (topics: readonly Topic[]) => DeadLetterSender {
  return ([first]) => {
    if (first === undefined) return { send: async () => [], close: async () => undefined };
    return deadLetterSender(transportOf(config, first).transport);
  };
}

function deadLetterSender(transport: Transport): DeadLetterSender {
  return {
    async send(letters) {
      const [first] = letters;
      return first === undefined ? [] : publish(transport, first.address, letters);
    },
    close: () => transport.close(),
  };
}

async function publish(
  transport: Transport,
  address: string,
  letters: readonly DeadLetter[],
): Promise<readonly LetterOutcome[]> {
  let partitions: number;
  try {
    partitions = (await transport.partitionCount?.(address)) ?? 1;
  } catch (error) {
    return letters.map(() => ({ kind: 'deferred', reason: reasonOf(error) }));
  }
  const { outcomes, hold } = await transport.publish({
    address,
    partitions,
    messages: letters.map(outgoing),
    // The transport's own time limits bound the call.
    signal: new AbortController().signal,
  });
  return outcomes.map((outcome) => letterOutcome(outcome, hold?.reason ?? 'on hold'));
}

function letterOutcome(outcome: PublishOutcome, holdReason: string): LetterOutcome {
  if (outcome.kind === 'acknowledged') return { kind: 'taken' };
  if (outcome.kind === 'blocked') return { kind: 'blocked' };
  if (outcome.kind === 'deferred') return { kind: 'deferred', reason: holdReason };
  return { kind: 'refused', reason: outcome.error };
}

/** Transports carry text: a body that is not text is sent in base64, with a header that says so. */
function outgoing({ key, headers, body }: DeadLetter): OutgoingMessage {
  const id = headers['outbox-dead-id'] ?? '';
  if (body === null) return { id, key, payload: '', headers: { ...headers, 'outbox-dead-body': 'none' } };
  if (isUtf8(body)) return { id, key, payload: Buffer.from(body).toString(), headers };
  return {
    id,
    key,
    payload: Buffer.from(body).toString('base64'),
    headers: { ...headers, 'outbox-dead-body': 'base64' },
  };
}
