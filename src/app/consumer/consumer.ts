import { hostname } from 'node:os';
import { type Config, defineConfig } from '../../config/config.ts';
import type { Logger } from '../../config/logger.ts';
import { temporalOf } from '../../config/temporal-config.ts';
import { requirePackages } from '../../core/packages.ts';
import { InboxConsumer } from '../../inbox/consumer.ts';
import type { Consumer } from '../../inbox/consumer-interface.ts';
import { type ConsumerSettings, resolveConsumerRules } from '../../inbox/consumer-options.ts';
import type { TransactionClient } from '../../inbox/transaction-client.ts';
import { packageVersion } from '../../operations/package-version.ts';
import { assertClient } from '../../store/database/client.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import { startParkedKeys } from '../../temporal/parked-key/engine.ts';
import { together } from '../together.ts';
import { consumerTroubleLines } from '../trouble-lines.ts';
import { patientClient } from './consumer-servers.ts';
import { sourcesOf } from './consumer-sources.ts';
import { deadLetterSendersOf } from './dead-letter-sender.ts';
import { receiptSendersOf } from './receipt-sender.ts';

/** Options of a consumer: its configuration and its settings. */
export interface ConsumerOptions extends ConsumerSettings {
  /**
   * The relay's configuration, or a part of it: messages arrive from its transports, and parked ones are retried on its
   * `temporal`. `database`, `relay` and `retention` are not used.
   */
  readonly config: Config;
  /**
   * Logs every trouble, with or without a `report`: the same one at most every five seconds, with the number of suppressed
   * repeats as `more`. `false`: none. @defaultValue writes one line of JSON per trouble to standard error
   */
  readonly logger?: Logger | false;
}

/**
 * Creates a consumer that handles each message with effect once, in transactions of the given client: a Prisma client, or a
 * `pg` pool wrapped by `clientOf`.
 *
 * The client must be connected to a database that has the tables of the outbox; it may be another database than the
 * sender's. Temporal supervises and shows parked messages; while it is away, the consumers try them by themselves.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_CONFIG_INVALID`; `OUTBOX_CLIENT_UNFIT` for a client of another database; `OUTBOX_PACKAGE_MISSING` without Temporal's packages
 * @example
 * // A client of its own: with the defaults up to 15 connections are in use at once, but pg opens at most 10.
 * const own = new PrismaClient({ adapter: new PrismaPg({ connectionString, max: 15 }) });
 * const orders = await consumer(own, { config, group: 'orders' })
 *   .on(orderTimeout, (tx, { payload }) => tx.order.updateMany({ where: { id: payload.orderId }, data: { status: 'CANCELED' } }))
 *   .start();
 */
export function consumer<Tx extends Transaction>(
  client: TransactionClient<Tx>,
  options: ConsumerOptions,
): Consumer<Tx> {
  assertClient('consumer', client);
  // Checked now, not when the first message is parked, which may be weeks later.
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
    processInfo: { host: hostname(), pid: process.pid, version: packageVersion() },
    hostParkedKeys: (plan) =>
      startParkedKeys({
        ...plan,
        temporal: temporalOf(temporal),
        visible: (topic) => !hidden.has(topic),
      }),
  });
}
