import { randomUUID } from 'node:crypto';
import type { OutgoingMessage, Transport } from '../../src/transports.ts';
import { overall } from '../workload.ts';
import type { TransportFigures, TransportSizes } from './transport-figures.ts';

/** Number of concurrent requests, by the library and by the bare client. */
export const inFlight = 16;
const batchSize = 1_000;

/** A transport whose server answers each message separately, by the library and by the bare client. */
export interface OneByOne {
  readonly name: string;
  readonly transport: Transport;
  readonly address: string;
  /** Sends one message and awaits the response. */
  readonly sendBare: (message: OutgoingMessage) => Promise<unknown>;
  /** The fraction of the usual number of messages to measure, because each one costs much more. */
  readonly share: number;
}

/** Measures messages without keys, so that both sides have the same number of concurrent requests. */
export async function measureOneByOne(
  { name, transport, address, sendBare, share }: OneByOne,
  { messages, rounds, tell }: TransportSizes,
): Promise<readonly TransportFigures[]> {
  const ours: number[] = [];
  const bare: number[] = [];
  const count = Math.max(batchSize, Math.round((messages * share) / batchSize) * batchSize);
  const { signal } = new AbortController();
  // The first round is the warm-up.
  for (let round = 0; round <= rounds; round += 1) {
    const byHand = await rateOf(count, async (batch) => {
      const left = batch.values();
      await Promise.all(
        Array.from({ length: inFlight }, async () => {
          for (const message of left) await sendBare(message);
        }),
      );
    });
    const byUs = await rateOf(count, async (batch) => {
      const { outcomes } = await transport.publish({ address, partitions: 1, messages: batch, signal });
      const other = outcomes.find(({ kind }) => kind !== 'acknowledged');
      if (other !== undefined) throw new Error(JSON.stringify(other));
    });
    if (round === 0) continue;
    bare.push(byHand);
    ours.push(byUs);
    tell(`${name}, round ${round}: ours ${byUs}/s, bare ${byHand}/s`);
  }
  await transport.close();
  return [{ name, sent: { ours: overall(ours), bare: overall(bare) } }];
}

/** Messages per second of consecutive batches, which are created before the clock starts. */
async function rateOf(
  count: number,
  send: (batch: readonly OutgoingMessage[]) => Promise<void>,
): Promise<number> {
  const batches = Array.from({ length: count / batchSize }, () =>
    Array.from({ length: batchSize }, aMessage),
  );
  const startedAt = performance.now();
  for (const batch of batches) await send(batch);
  return Math.round((count * 1_000) / (performance.now() - startedAt));
}

function aMessage(): OutgoingMessage {
  const id = randomUUID();
  const headers = {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: 'urn:outbox:bench',
    ce_type: 'bench',
    ce_time: new Date().toISOString(),
    'content-type': 'application/json',
  };
  return { id, key: null, payload: JSON.stringify({ text: 'x'.repeat(240) }), headers };
}
