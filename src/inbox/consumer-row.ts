import { OwnRow, type OwnRowInput } from '../core/own-row.ts';
import type { Sql } from '../store/database/database.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import type { TransactionClient } from './transaction-client.ts';

/** Short limits: a failed write is repeated later. */
const patience = { maxWait: 2_000, timeout: 5_000 } as const;

export interface ConsumerRowInput<Row> extends Pick<OwnRowInput<Row>, 'beatMs' | 'row'> {
  readonly client: TransactionClient<Transaction>;
  readonly write: (sql: Sql, row: Row | undefined) => Promise<void>;
}

/** A row of a consumer, written by its client, for `status`. Nothing depends on it. */
export function consumerRow<Row>({ client, write, ...input }: ConsumerRowInput<Row>): OwnRow<Row> {
  return new OwnRow({
    ...input,
    write: (row) => client.$transaction((tx) => write(sqlOf(tx), row), patience),
  });
}
