import { Consumer } from '../inbox/consumer.ts';
import type { ConsumerSettings } from '../inbox/consumer-options.ts';
import type { TransactionClient } from '../inbox/transaction-client.ts';
import type { Transaction } from '../store/transaction.ts';
import { type Config, defineConfig } from './config.ts';
import { sourcesOf } from './consumer-sources.ts';
import { receiptSendersOf } from './receipt-sender.ts';

export interface ConsumerOptions extends ConsumerSettings {
  /** The same as the relay's: its transports tell where messages arrive. */
  readonly config: Config;
}

/**
 * Makes a consumer that handles each message with effect once, in transactions of the given client.
 *
 * The client must be connected to a database that has the tables of the outbox; it may be another database than the
 * sender's.
 *
 * @throws OutboxError `OUTBOX_INVALID_OPTION`, `OUTBOX_CONFIG_INVALID`
 * @example
 * const orders = await consumer(prisma, { config, group: 'orders' })
 *   .on(orderTimeout, (tx, { payload }) => tx.order.updateMany({ where: { id: payload.orderId }, data: { status: 'CANCELED' } }))
 *   .start();
 */
export function consumer<Tx extends Transaction>(
  client: TransactionClient<Tx>,
  options: ConsumerOptions,
): Consumer<Tx> {
  const { config, ...settings } = options;
  const { topics, transports } = defineConfig(config);
  return new Consumer({
    client,
    settings,
    topics,
    sourceOf: sourcesOf({ transports }),
    receiptSenderOf: receiptSendersOf({ transports }),
  });
}
