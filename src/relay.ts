export { type RelayOptions, type RunningRelay, startRelay } from './app/relay/start-relay.ts';
export type {
  BrokerOffsets,
  BrokerTopics,
  Capabilities,
  CommittedLag,
  Examined,
  UsedAddress,
} from './brokers/capabilities.ts';
export type {
  IncomingBatch,
  IncomingMessage,
  Lag,
  Partition,
  Source,
  SourceNotice,
  Subscribed,
  Subscription,
} from './brokers/source.ts';
export type {
  Hold,
  OutgoingBatch,
  OutgoingMessage,
  PublishOutcome,
  PublishResult,
  Transport,
} from './brokers/transport.ts';
export type { Config, RelayConfig } from './config/config.ts';
export type { DatabaseConfig } from './config/database-config.ts';
export type { Logger } from './config/logger.ts';
export type { RelaySettings } from './config/relay-settings.ts';
export type { TemporalConfig, TemporalConnection, TemporalTls } from './config/temporal-config.ts';
export type { DeliveryLog, LogRange, LogReader, LogRecord } from './core/delivery-log.ts';
export type { Diagnosis, DoctorFinding, FindingState } from './core/diagnosis.ts';
export type { Duration } from './core/duration.ts';
export { errorRules, OutboxError, type OutboxErrorCode } from './core/errors.ts';
export type { Failing, Health } from './core/health.ts';
export type { Lane } from './core/lane.ts';
export type { Lazy } from './core/options/lazy.ts';
export type { Retention } from './core/retention.ts';
export type { StopOptions } from './core/running.ts';
export type { ConfirmRules, Topic, TopicRules } from './core/topic.ts';
export type { Upcast, VersionRules } from './core/topic-version.ts';
export type { FailedSend, RelayEvent, Report } from './relay/report.ts';
export type { WorkerExtras } from './temporal/relay/workers.ts';
