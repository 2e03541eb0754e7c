import { type WebhookSecret, type Webhooks, webhooks } from '../../brokers/http/client/signatures.ts';
import type { Duration } from '../../core/duration.ts';
import type { Table } from '../../core/options/collections.ts';
import { type Lazy, lazy } from '../../core/options/lazy.ts';
import { name } from '../../core/options/name.ts';
import { optionTable } from '../../core/options/option-table.ts';
import { duration, func, unchecked, whole } from '../../core/options/values.ts';
import { assertClient } from '../../store/database/client.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import type { TransactionClient } from '../transaction-client.ts';

/** How requests are received. */
export interface ReceiveOptions<Tx extends Transaction> {
  /** A Prisma client, or what `clientOf` makes of a pool. The work is done in its transactions, with its limits. */
  readonly client: TransactionClient<Tx>;
  /**
   * Whose effect it is, 1 to 512 bytes: a message is handled once per group. One for each sender: `webhook-id`s are unique
   * among those of one sender only.
   */
  readonly group: string;
  /** What the sender signs with; of several any is accepted. A function is asked for every request. */
  readonly secret: Lazy<WebhookSecret>;
  /**
   * Called with the error of the work or the database, or with what the call rejects with, none of which is disclosed to the sender.
   * The id is that of the request, also where nothing has proved it; `''`: it has none.
   */
  readonly report: (error: unknown, messageId: string) => void;
  /** Longest body in bytes, 1 to 67,108,864. @defaultValue 1,048,576 */
  readonly maxBytes?: number;
  /** How long the body may take to arrive, 100 ms to 2 min. @defaultValue `'10s'` */
  readonly bodyTimeout?: Duration;
}

/** The validated options with their defaults. */
export interface ReceiveSettings<Tx extends Transaction>
  extends Omit<ReceiveOptions<Tx>, 'maxBytes' | 'bodyTimeout' | 'secret'> {
  /** With the current secrets. @throws what the function `secret` throws */
  readonly webhooks: () => Webhooks;
  readonly maxBytes: number;
  readonly bodyTimeoutMs: number;
}

const mebibyte = 1_024 * 1_024;

const receiveOptions = optionTable('receive()', {
  client: unchecked,
  group: name(),
  secret: lazy(webhooks),
  report: func<ReceiveOptions<Transaction>['report']>(),
  maxBytes: whole(1, 64 * mebibyte, mebibyte),
  bodyTimeout: duration('100ms', '2 min', '10s'),
} satisfies Table<ReceiveOptions<Transaction>>);

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function receiveSettings<Tx extends Transaction>(
  options: ReceiveOptions<Tx>,
  work: unknown,
): ReceiveSettings<Tx> {
  const { bodyTimeout, secret, ...settings } = receiveOptions.read(options);
  const { client } = options;
  assertClient('receive()', client);
  if (typeof work !== 'function') throw receiveOptions.invalid('work', 'must be a function');
  return { ...settings, client, webhooks: secret, bodyTimeoutMs: bodyTimeout };
}
