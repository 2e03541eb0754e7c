import { hostname } from 'node:os';
import { requirePackages } from '../core/packages.ts';
import { InboxConsumer } from '../inbox/consumer.ts';
import type { Consumer } from '../inbox/consumer-interface.ts';
import { type ConsumerSettings, resolveConsumerRules } from '../inbox/consumer-options.ts';
import type { TransactionClient } from '../inbox/transaction-client.ts';
import type { Transaction } from '../store/database/transaction.ts';
import { startParkedKeys } from '../temporal/parked-key/engine.ts';
import { type Config, defineConfig } from './config.ts';
import { patientClient } from './consumer-servers.ts';
import { sourcesOf } from './consumer-sources.ts';
import { deadLetterSendersOf } from './dead-letter-sender.ts';
import type { Logger } from './logger.ts';
import { receiptSendersOf } from './receipt-sender.ts';
import { temporalOf } from './temporal-config.ts';
import { together } from './together.ts';
import { consumerTroubleLines } from './trouble-lines.ts';

/** What a consumer is made of: where things are, and how it works. */
export interface ConsumerOptions extends ConsumerSettings {
  /**
   * The same as the relay's, or a part of it: its transports tell where messages arrive, and `temporal` where parked ones
   * are tried. `database`, `relay` and `retention` are not used.
   */
  readonly config: Config;
  /**
   * Told of every trouble, whether or not there is a `report`: the same one every five seconds at most, with how often it was
   * met meanwhile as `more`. `false`: nobody is. @defaultValue one line of JSON each on standard error
   */
  readonly logger?: Logger | false;
}

/**
 * Makes a consumer that handles each message with effect once, in transactions of the given client: one of Prisma, or what
 * `clientOf` makes of a pool of `pg`.
 *
 * The client must be connected to a database that has the tables of the outbox; it may be another database than the
 * sender's. Temporal is needed once a message is parked, not before.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_CONFIG_INVALID`; `OUTBOX_PACKAGE_MISSING` without Temporal's packages
 * @example
 * // A client of its own: with the defaults up to 15 connections are in use at one time, and pg makes 10.
 * const own = new PrismaClient({ adapter: new PrismaPg({ connectionString, max: 15 }) });
 * const orders = await consumer(own, { config, group: 'orders' })
 *   .on(orderTimeout, (tx, { payload }) => tx.order.updateMany({ where: { id: payload.orderId }, data: { status: 'CANCELED' } }))
 *   .start();
 */
export function consumer<Tx extends Transaction>(
  client: TransactionClient<Tx>,
  options: ConsumerOptions,
): Consumer<Tx> {
  // Not first when a message is parked, which may be weeks later.
  requirePackages('temporal');
  const { config, logger, ...given } = options;
  const { temporal, topics, transports } = defineConfig(config);
  const hidden = new Set(topics.filter(({ rules }) => !rules.visible).map(({ name }) => name));
  const report = together(consumerTroubleLines(given.group, logger), given.report);
  const { startTimeoutMs } = resolveConsumerRules(given);
  return new InboxConsumer({
    client,
    whenReached: (some, told, stopping) => patientClient(some, startTimeoutMs, told, stopping),
    settings: { ...given, ...(report !== undefined && { report }) },
    topics,
    sourceOf: sourcesOf({ transports }, report ?? (() => undefined)),
    receiptSenderOf: receiptSendersOf({ transports }),
    deadLetterSenderOf: deadLetterSendersOf({ transports }),
    place: { host: hostname(), pid: process.pid },
    hostParkedKeys: ({ failed, ...input }) =>
      startParkedKeys({
        ...input,
        temporal: temporalOf(temporal),
        visible: (topic) => !hidden.has(topic),
        report: failed,
      }),
  });
}
