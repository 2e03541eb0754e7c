export { type BearerToken, bearerTokens } from './config/bearer-tokens.ts';
export { type ApiSettings, type Config, defineConfig, type RelayConfig } from './config/config.ts';
export type { DatabaseConfig } from './config/database-config.ts';
export { env } from './config/env.ts';
export type { GroupConfig } from './config/groups-config.ts';
export type { RelaySettings } from './config/relay-settings.ts';
export type { TemporalConfig, TemporalConnection, TemporalTls } from './config/temporal-config.ts';
export type { Authentication, Caller, Role } from './core/authentication.ts';
export type { Due } from './core/due.ts';
export type { Duration } from './core/duration.ts';
export { errorRules, OutboxError, type OutboxErrorCode } from './core/errors.ts';
export type { Lazy } from './core/options/lazy.ts';
export type { Retention } from './core/retention.ts';
export {
  type Confirm,
  type ConfirmRules,
  type Rate,
  type RateRules,
  type Retry,
  type Topic,
  type TopicLimits,
  type TopicOptions,
  type TopicRules,
  topic,
} from './core/topic.ts';
export type { Upcast, VersionOptions, VersionRules } from './core/topic-version.ts';
export type { State } from './core/transitions.ts';
export { type CancelAnswer, cancel, type RescheduleAnswer, reschedule } from './outbox/change.ts';
export type { Expires } from './outbox/expiry.ts';
export type { MessageOptions, SendOptions } from './outbox/prepare.ts';
export type { Replacement } from './outbox/replacement.ts';
export {
  type CronOptions,
  type EveryOptions,
  type RepeatedMessageOptions,
  type ScheduleAnswer,
  type ScheduleOptions,
  schedule,
  type UnscheduleAnswer,
  unschedule,
} from './outbox/schedule.ts';
export { type BatchMessage, type Stored, send, sendBatch } from './outbox/send.ts';
export { type TransactionRunner, transaction } from './outbox/transact.ts';
export { type QueryRunner, type RootClient, type RunQuery, type Waker, wake } from './outbox/wake.ts';
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
export { fromQuery, type Transaction } from './store/database/transaction.ts';
export type { FailedMessage } from './store/message/unnotified.ts';
export type { Alert, OnAlert } from './watch/on-alert.ts';
export type { AlertDestinations, AlertEmail, AlertSettings, AlertWebhook } from './watch/settings.ts';
