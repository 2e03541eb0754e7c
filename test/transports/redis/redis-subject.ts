import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { inject } from 'vitest';
import type { DeliveredMessage, Transport, TransportSubject } from '../../../src/testing.ts';
import { type FaultProxy, startFaultProxy } from '../../support/faults/fault-proxy.ts';

/** Longer than the server of these tests takes one argument. */
export const tooLarge = 'z'.repeat(1_100_000);

export const serverUrl = inject('redisTransportUrl');

/** A client of the server of these tests, to look at what is there. */
export async function observer(url = serverUrl) {
  const client = createClient({ url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

export type Observer = Awaited<ReturnType<typeof observer>>;

/** A proxy in front of a server, and the URL of what goes through it. */
export async function proxied(
  url = serverUrl,
): Promise<{ readonly proxy: FaultProxy; readonly url: string }> {
  const proxy = await startFaultProxy(new URL(url).host);
  return { proxy, url: `redis://${proxy.address}` };
}

/** A transport behind a proxy, with every fault that Redis can have; the observer's end is the subject's. */
export async function faultySubject(
  make: (url: string) => Transport,
  contents: (client: Observer, address: string) => Promise<() => Promise<readonly DeliveredMessage[]>>,
): Promise<TransportSubject> {
  const { proxy, url } = await proxied();
  const client = await observer();
  const address = `contract-${randomUUID()}`;
  return {
    address,
    partitions: 1,
    transport: make(url),
    read: await contents(client, address),
    async dispose() {
      await proxy.close();
      client.destroy();
    },
    faults: {
      heal: async () => proxy.heal(),
      refused: (message) => ({ ...message, payload: tooLarge }),
      hold: async () => proxy.inject({ kind: 'reset' }),
      loseAnswers: async () => proxy.inject({ kind: 'drop-replies' }),
      reorder: async () => proxy.inject({ kind: 'delay', ms: 1, jitterMs: 20 }),
    },
  };
}
