export type { Secret } from './core/ask-secret.ts';
export type { Duration } from './core/duration.ts';
export { errorRules, OutboxError, type OutboxErrorCode } from './core/errors.ts';
export type { Lazy } from './core/lazy.ts';
export type { WebhookSecret } from './http/signatures.ts';
export type { RabbitmqTls } from './rabbitmq/connection.ts';
export type { RedisCredentials, RedisServerOptions } from './redis/redis-server.ts';
export type {
  IncomingBatch,
  IncomingMessage,
  Lag,
  Partition,
  Source,
  SourceNotice,
  Subscribed,
  Subscription,
} from './sources/source.ts';
export type { TemporalConnection, TemporalTls } from './temporal/temporal-address.ts';
export type { HttpOptions } from './transports/http/http-options.ts';
export { http } from './transports/http/http-transport.ts';
export type { KafkaConsumerOptions } from './transports/kafka/consumer-options.ts';
export type { KafkaOptions, Sasl } from './transports/kafka/kafka-options.ts';
export { kafka } from './transports/kafka/kafka-transport.ts';
export { print, type WriteLine } from './transports/print/print-transport.ts';
export type {
  RabbitmqExchange,
  RabbitmqOptions,
  RabbitmqQueues,
} from './transports/rabbitmq/rabbitmq-options.ts';
export { rabbitmq } from './transports/rabbitmq/rabbitmq-transport.ts';
export type { ReceivingTransport } from './transports/receiving-transport.ts';
export { type RedisListOptions, redisList } from './transports/redis/list-transport.ts';
export { type RedisPubSubOptions, redisPubSub } from './transports/redis/pub-sub-transport.ts';
export type { RedisOptions, ReplicaOptions } from './transports/redis/redis-options.ts';
export { type RedisStreamOptions, redisStream } from './transports/redis/stream-transport.ts';
export type { RocketmqOptions } from './transports/rocketmq/rocketmq-options.ts';
export { rocketmq } from './transports/rocketmq/rocketmq-transport.ts';
export { type SendOne, type SendOutcome, sendByKey } from './transports/send-by-key.ts';
export type {
  Hold,
  OutgoingBatch,
  OutgoingMessage,
  PublishOutcome,
  PublishResult,
  Transport,
} from './transports/transport.ts';
export type {
  WorkflowMessage,
  WorkflowMessageContext,
  WorkflowOptions,
} from './transports/workflow/workflow-options.ts';
export { workflow } from './transports/workflow/workflow-transport.ts';
