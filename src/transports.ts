export type {
  BrokerGroups,
  BrokerOffsets,
  BrokerTopics,
  Capabilities,
  CommittedLag,
  Examined,
  TidiedGroup,
  Tidying,
  UsedAddress,
} from './brokers/capabilities.ts';
export type { WebhookSecret } from './brokers/http/client/signatures.ts';
export type { HttpOptions } from './brokers/http/transport/http-options.ts';
export { http } from './brokers/http/transport/http-transport.ts';
export type { KafkaConsumerOptions } from './brokers/kafka/transport/consumer-options.ts';
export type { KafkaOptions, Sasl } from './brokers/kafka/transport/kafka-options.ts';
export { kafka } from './brokers/kafka/transport/kafka-transport.ts';
export { print, type WriteLine } from './brokers/print/print-transport.ts';
export type { RabbitmqTls } from './brokers/rabbitmq/client/connection.ts';
export type {
  RabbitmqExchange,
  RabbitmqOptions,
  RabbitmqQueues,
} from './brokers/rabbitmq/transport/rabbitmq-options.ts';
export { rabbitmq } from './brokers/rabbitmq/transport/rabbitmq-transport.ts';
export type { ReceivingTransport } from './brokers/receiving-transport.ts';
export type { RedisCredentials, RedisServerOptions } from './brokers/redis/client/redis-server.ts';
export { type RedisListOptions, redisList } from './brokers/redis/transport/list-transport.ts';
export { type RedisPubSubOptions, redisPubSub } from './brokers/redis/transport/pub-sub-transport.ts';
export type { RedisOptions, ReplicaOptions } from './brokers/redis/transport/redis-options.ts';
export { type RedisStreamOptions, redisStream } from './brokers/redis/transport/stream-transport.ts';
export type { RocketmqOptions } from './brokers/rocketmq/transport/rocketmq-options.ts';
export { rocketmq } from './brokers/rocketmq/transport/rocketmq-transport.ts';
export { type SendOne, type SendOutcome, sendByKey } from './brokers/send-by-key.ts';
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
export type { TemporalConnection, TemporalTls } from './brokers/workflow/client/temporal-address.ts';
export type {
  WorkflowMessage,
  WorkflowMessageContext,
  WorkflowOptions,
} from './brokers/workflow/transport/workflow-options.ts';
export { workflow } from './brokers/workflow/transport/workflow-transport.ts';
export type { Secret } from './core/ask-secret.ts';
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
export type { Lazy } from './core/options/lazy.ts';
export type { Rewinding, RewoundPartition } from './core/rewinding.ts';
