export type {
  BrokerOffsets,
  BrokerTopics,
  Capabilities,
  CommittedLag,
  Examined,
  UsedAddress,
} from './brokers/capabilities.ts';
export type { MemoryFaults, PlannedRefusal, RefusalRule } from './brokers/memory/memory-faults.ts';
export type { MemoryMessage } from './brokers/memory/memory-log.ts';
export {
  type MemorySource,
  type MemorySourceOptions,
  memorySource,
} from './brokers/memory/memory-source.ts';
export {
  type MemoryRecord,
  type MemoryTransport,
  type MemoryTransportOptions,
  memoryTransport,
} from './brokers/memory/memory-transport.ts';
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
export { type CrashPoint, crashPoints } from './core/crash-point.ts';
export type {
  DeliveryLog,
  LogExcerpt,
  LogRange,
  LogReader,
  LogRecord,
  LogStretch,
} from './core/delivery-log.ts';
export type { Diagnosis, DoctorFinding, FindingState } from './core/diagnosis.ts';
export type { Duration } from './core/duration.ts';
export { errorRules, OutboxError, type OutboxErrorCode } from './core/errors.ts';
export type { Rewinding, RewoundPartition } from './core/rewinding.ts';
export type { State } from './core/transitions.ts';
export type { QueryRunner, RootClient, RunQuery, Waker } from './outbox/wake.ts';
export type { Transaction } from './store/database/transaction.ts';
export {
  type ContractCase,
  type ContractFaults,
  type DeliveredMessage,
  type TransportSubject,
} from './testing/contract-subject.ts';
export { type CrashOptions, crashAt } from './testing/crash-at.ts';
export { type MemoryBroker, memoryBroker } from './testing/memory-broker.ts';
export { type Sent, sentIn } from './testing/sent-in.ts';
export { skipTime } from './testing/skip-time.ts';
export { sourceContract } from './testing/source-contract.ts';
export {
  type SkippedCase,
  type SourceAbility,
  type SourceContract,
  type SourceMessage,
  type SourceSubject,
} from './testing/source-subject.ts';
export { transportContract } from './testing/transport-contract.ts';
