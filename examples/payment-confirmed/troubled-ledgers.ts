import { redisFilter } from 'temporal-outbox/redis';
import type { Transport } from 'temporal-outbox/transports';
import type { PrismaClient } from './generated/ledger/client.ts';
import type { Jam } from './jam.ts';
import { ledger } from './ledger.ts';
import { losingReceipts } from './losing-broker.ts';

/** Two ledgers that share the work, with faults, for the story. */
export interface TroubledLedgers {
  /** The ids of the messages that the filter in Redis has recognized. */
  readonly knownToRedis: ReadonlySet<string>;
  /** Loses the first receipt of a message. */
  loseReceipt(messageId: string): void;
  stop(): Promise<void>;
}

/** @param connect makes the connection of one of them */
export async function troubledLedgers(
  books: PrismaClient,
  jam: Jam,
  connect: () => Transport,
): Promise<TroubledLedgers> {
  const knownToRedis = new Set<string>();
  const all = await Promise.all(
    [1, 2].map(async (number) => {
      const filter = watchedFilter(knownToRedis);
      const receipts = losingReceipts(connect());
      const consumer = ledger(books, { filter, transports: { broker: receipts.transport } });
      return { receipts, running: await consumer.use(jam.of(number)).start() };
    }),
  );
  return {
    knownToRedis,
    loseReceipt: (messageId) => {
      for (const { receipts } of all) receipts.lose(messageId);
    },
    stop: async () => void (await Promise.all(all.map(({ running }) => running.stop()))),
  };
}

function watchedFilter(known: Set<string>) {
  const redis = redisFilter({
    url: process.env['REDIS_URL'] ?? '',
    prefix: 'payment-confirmed',
    requestTimeout: '5s',
  });
  return {
    add: (group: string, ids: readonly string[]) => redis.add(group, ids),
    close: () => redis.close(),
    async seen(group: string, ids: readonly string[]) {
      const seen = await redis.seen(group, ids);
      // Inboxes know an id that its sender chose behind its installation: another service may choose the same one.
      for (const id of seen) known.add(id.slice(id.lastIndexOf('|') + 1));
      return seen;
    },
  };
}
