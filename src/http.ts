export type { WebhookSecret } from './brokers/http/client/signatures.ts';
export type { Duration } from './core/duration.ts';
export { errorRules, OutboxError, type OutboxErrorCode } from './core/errors.ts';
export type { Lazy } from './core/options/lazy.ts';
export type { ReceivedRequest, ReceiveWork } from './inbox/http/answer-request.ts';
export { receive, receiveNode, receiver, receiverNode } from './inbox/http/receive.ts';
export type { ReceiveOptions } from './inbox/http/receive-options.ts';
export type { TransactionClient } from './inbox/transaction-client.ts';
export { permanent } from './inbox/verdict.ts';
export {
  clientOf,
  type PoolClient,
  type PoolTransactionClient,
} from './store/database/pool-client.ts';
export type { ConnectionPool, PoolConnection } from './store/database/pool-connection.ts';
export type { IsolationLevel, PoolTransactionOptions } from './store/database/pool-transaction.ts';
export { type Prisma8Client, prisma8 } from './store/database/prisma8.ts';
export type { Prisma8, Prisma8Queryable } from './store/database/prisma8-parts.ts';
export type { Transaction } from './store/database/transaction.ts';
