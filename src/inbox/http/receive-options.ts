import { type WebhookSecret, Webhooks } from '../../brokers/http/client/signatures.ts';
import { type Duration, durationMs } from '../../core/duration.ts';
import { OutboxError } from '../../core/errors.ts';
import type { Lazy } from '../../core/options/lazy.ts';
import { assertOptions } from '../../core/options/option-table.ts';
import { assertClient } from '../../store/database/client.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import { assertName } from '../once.ts';
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
  /** Gets what the work, or the database, failed with: the sender is told nothing of it. */
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

const optionNames: readonly (keyof ReceiveOptions<Transaction>)[] = [
  'client',
  'group',
  'secret',
  'report',
  'maxBytes',
  'bodyTimeout',
];
const defaults = { maxBytes: 1_024 * 1_024, bodyTimeout: '10s' } as const;
const largestBody = 64 * 1_024 * 1_024;

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function receiveSettings<Tx extends Transaction>(
  options: ReceiveOptions<Tx>,
  work: unknown,
): ReceiveSettings<Tx> {
  assertOptions('receive()', options, optionNames);
  const { maxBytes = defaults.maxBytes, bodyTimeout = defaults.bodyTimeout, secret, ...rest } = options;
  assertName('group', rest.group);
  if (typeof rest.report !== 'function') throw invalid('report', 'must be a function');
  assertClient('receive()', rest.client);
  if (!Number.isInteger(maxBytes) || maxBytes < 1 || maxBytes > largestBody)
    throw invalid('maxBytes', 'must be an integer from 1 to 67,108,864');
  const bodyTimeoutMs = durationMs(bodyTimeout);
  if (bodyTimeoutMs === undefined || bodyTimeoutMs < 100 || bodyTimeoutMs > 120_000)
    throw invalid('bodyTimeout', 'must be 100 ms to 2 min');
  if (typeof work !== 'function') throw invalid('work', 'must be a function');
  return { ...rest, webhooks: webhooksOf(secret), maxBytes, bodyTimeoutMs };
}

/** A secret that is written down is judged at once. */
function webhooksOf(secret: Lazy<WebhookSecret>): () => Webhooks {
  const current = (): Webhooks => new Webhooks('receive()', secret);
  if (typeof secret === 'function') return current;
  const webhooks = current();
  return () => webhooks;
}

function invalid(option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of receive() ${what}.`, {
    details: { option },
  });
}
