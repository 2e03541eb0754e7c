export { type ConsumerOptions, consumer } from './app/consumer/consumer.ts';
export { type HealthServer, type HealthServerOptions, healthServer } from './app/health-server.ts';
export type { SeenFilter } from './brokers/seen-filter.ts';
export type { IncomingMessage, Lag, Partition, SourceNotice } from './brokers/source.ts';
export type { ApiSettings, Config } from './config/config.ts';
export type { DatabaseConfig } from './config/database-config.ts';
export type { GroupConfig } from './config/groups-config.ts';
export type { Logger } from './config/logger.ts';
export type { RelaySettings } from './config/relay-settings.ts';
export type { TemporalConfig, TemporalConnection, TemporalTls } from './config/temporal-config.ts';
export type { Authentication, Caller, Role } from './core/authentication.ts';
export type { Duration } from './core/duration.ts';
export { errorRules, OutboxError, type OutboxErrorCode } from './core/errors.ts';
export type { Failing, Health } from './core/health.ts';
export type { Lazy } from './core/options/lazy.ts';
export type { Retention } from './core/retention.ts';
export type { StopOptions } from './core/running.ts';
export type { ConfirmRules, RateRules, Topic, TopicRules } from './core/topic.ts';
export type { Upcast, VersionRules } from './core/topic-version.ts';
export type { ConsumerCounts } from './inbox/consumer-counts.ts';
export type {
  ConsumerEvent,
  ConsumerReport,
  IdentifiedMessage,
  KeyedMessage,
  PausedAddress,
  Position,
} from './inbox/consumer-event.ts';
export type { Consumer, ConsumerStatus, RunningConsumer } from './inbox/consumer-interface.ts';
export type { Batch, ConsumerSettings } from './inbox/consumer-options.ts';
export type { BatchHandler, Handler, HandlerContext } from './inbox/handler.ts';
export type { HandlerOptions } from './inbox/handler-options.ts';
export type { FailingPartition } from './inbox/intake/failing-partitions.ts';
export type { Middleware, MiddlewareContext } from './inbox/middleware.ts';
export { type Once, once } from './inbox/once.ts';
export type { InboxMessage } from './inbox/reading/inbox-message.ts';
export type { MessageIdRule } from './inbox/reading/message-id.ts';
export type { RefusalReason } from './inbox/reading/unreadable.ts';
export type { UnknownTopics } from './inbox/route-table.ts';
export type { TransactionClient } from './inbox/transaction-client.ts';
export { permanent, retryAfter } from './inbox/verdict.ts';
export type { Window } from './inbox/window/window.ts';
export type { OnFailed } from './relay/on-failed.ts';
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
export type { KeptCounts } from './store/inbox/kept-counts.ts';
export type { FailedMessage } from './store/message/unnotified.ts';
export type { Alert, OnAlert } from './watch/on-alert.ts';
export type { AlertDestinations, AlertEmail, AlertSettings, AlertWebhook } from './watch/settings.ts';
