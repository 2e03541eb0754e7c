export { type Config, defineConfig, type RelayConfig } from './config/config.ts';
export type { DatabaseConfig } from './config/database-config.ts';
export { env } from './config/env.ts';
export type { RelaySettings } from './config/relay-settings.ts';
export type { TemporalConfig, TemporalConnection, TemporalTls } from './config/temporal-config.ts';
export type { Duration } from './core/duration.ts';
export type { Retention } from './core/retention.ts';
export { errorRules, OutboxError, type OutboxErrorCode } from './core/errors.ts';
export type { Lazy } from './core/lazy.ts';
export {
  type Confirm,
  type ConfirmRules,
  type Retry,
  type Topic,
  topic,
  type TopicLimits,
  type TopicOptions,
  type TopicRules,
} from './core/topic.ts';
export type { Upcast, VersionOptions, VersionRules } from './core/topic-version.ts';
export type { State } from './core/transitions.ts';
export { cancel, type CancelAnswer, reschedule, type RescheduleAnswer } from './outbox/change.ts';
export type { Due, SendOptions } from './outbox/prepare.ts';
export { type BatchMessage, send, sendBatch, type Stored } from './outbox/send.ts';
export { transaction, type TransactionRunner } from './outbox/transact.ts';
export { fromQuery, type Transaction } from './store/transaction.ts';
