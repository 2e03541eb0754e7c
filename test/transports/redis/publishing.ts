import { randomUUID } from 'node:crypto';
import type { OutgoingMessage, PublishResult, Transport } from '../../../src/transports.ts';

/** Messages of these keys, in turn. */
export function messagesOf(keys: readonly (string | null)[], count: number): readonly OutgoingMessage[] {
  return Array.from({ length: count }, (_, n) => {
    const id = randomUUID();
    return { id, key: keys[n % keys.length] ?? null, payload: JSON.stringify({ n }), headers: { ce_id: id } };
  });
}

/** Publishes as the relay does. */
export function publish(
  transport: Transport,
  address: string,
  messages: readonly OutgoingMessage[],
): Promise<PublishResult> {
  return transport.publish({ address, partitions: 1, messages, signal: new AbortController().signal });
}

/** The outcome kinds, each once, and the hold. */
async function answerOf(
  answer: Promise<PublishResult>,
): Promise<{ readonly kinds: readonly string[]; readonly hold: PublishResult['hold'] }> {
  const { outcomes, hold } = await answer;
  return { kinds: [...new Set(outcomes.map(({ kind }) => kind))], hold };
}

/** As a text: `acknowledged`, or what else became of it. */
export async function kindOf(
  transport: Transport,
  address: string,
  messages = messagesOf(['k'], 3),
): Promise<string> {
  const { kinds, hold } = await answerOf(publish(transport, address, messages));
  return [...kinds, ...(hold === undefined ? [] : [`${hold.scope}: ${hold.reason}`])].join(', ');
}
