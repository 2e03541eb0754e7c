import { randomUUID } from 'node:crypto';
import { OutboxError } from '../../../core/errors.ts';
import { Slots } from '../../../core/slots.ts';
import { joinInTime } from '../../join-in-time.ts';
import type { Source, Subscribed, Subscription } from '../../source.ts';
import { RedisLink, redisUnavailable } from '../client/redis-link.ts';
import type { RedisServer } from '../client/redis-server.ts';
import type { Queue } from './queue.ts';
import { QueueReader, type ReaderPaces, readerPaces } from './queue-reader.ts';

/** How a source reaches its server. */
export interface SourceSettings {
  readonly server: RedisServer;
  readonly requestTimeoutMs: number;
}

/** The parts that differ between kinds of sources. */
export interface SourceParts {
  readonly name: string;
  readonly queueOf: (address: string, subscription: Subscription) => Queue;
}

/**
 * Receives from addresses that one member of a group reads at a time, to keep their order: the member holds a lease and
 * renews it. The others stand by, and one of them takes over at once when it stops, or after the lease when it dies.
 */
export function redisSource(
  settings: SourceSettings,
  parts: SourceParts,
  paces: ReaderPaces = readerPaces,
): Source {
  return {
    name: parts.name,
    // Acknowledged messages are never delivered again.
    redeliveryPeriodMs: async () => 0,
    subscribe: (subscription) => subscribe(settings, parts, paces, subscription),
  };
}

async function subscribe(
  { server, requestTimeoutMs }: SourceSettings,
  { queueOf }: SourceParts,
  paces: ReaderPaces,
  subscription: Subscription,
): Promise<Subscribed> {
  const { addresses, group } = subscription;
  const stopping = new AbortController();
  const link = new RedisLink(server, requestTimeoutMs, subscription);
  const readers: QueueReader[] = [];
  let refused = (_error: OutboxError): void => undefined;
  const refusal = new Promise<OutboxError>((resolve) => {
    refused = resolve;
  });
  const context = {
    server,
    requestTimeoutMs,
    subscription,
    link,
    holder: `${group}/${randomUUID()}`,
    slots: new Slots(subscription.concurrency),
    paces,
    stopping: stopping.signal,
    refused: (error: OutboxError) => refused(error),
    changed: () => {
      const mine = readers.filter(({ isMine }) => isMine);
      subscription.assigned(mine.map(({ queue }) => ({ address: queue.address, partition: 0 })));
    },
  };
  for (const address of addresses) readers.push(new QueueReader(queueOf(address, subscription), context));
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(readers.map(({ ended }) => ended));
    link.close();
  };
  const reconnecting = {
    joined: Promise.all(readers.map((reader) => reader.joined)),
    get lastError() {
      const errors = readers.map(({ lastError }) => lastError).filter((error) => error !== undefined);
      return errors.find((error) => error instanceof OutboxError) ?? errors[0];
    },
  };
  const joining = joinInTime({ reconnecting, stop }, subscription, () => server.endpoint);
  await unlessRefused(joining, refusal, stop);
  const lag = async (): Promise<Awaited<ReturnType<Subscribed['lag']>>> =>
    Promise.all(
      readers.map(async ({ queue }) => ({
        address: queue.address,
        partition: 0,
        messages: await link.ask((client) => queue.lag(client)),
      })),
    ).catch((error: unknown) => {
      throw redisUnavailable(server, error);
    });
  return { lag, stop };
}

/** Waits for the first join; a refusal of the server ends it at once. @throws the refusal */
async function unlessRefused(
  joining: Promise<void>,
  refusal: Promise<OutboxError>,
  stop: () => Promise<void>,
): Promise<void> {
  const unfit = await Promise.race([joining.then(() => undefined), refusal]);
  if (unfit === undefined) return;
  joining.catch(() => undefined);
  await stop();
  throw unfit;
}
