import type { Mutation } from '../mutation.ts';

const notStored = 'What RabbitMQ has not stored does not count as published';
const inOrder = 'Over RabbitMQ keys keep their order, and effects happen once';

/** What a server that confirms, returns and refuses each message alone must not make of them. */
export const rabbitmqMutations: readonly Mutation[] = [
  {
    name: 'rabbitmq-binds-once',
    promise: inOrder,
    file: 'src/sources/rabbitmq/queue-session.ts',
    find: 'if (this.#rules.declare) kept.push',
    replace: 'if (!this.#rules.declare) kept.push',
    test: 'test/transports/rabbitmq/bindings.test.ts',
    title: 'an exchange that is deleted and made again is bound again, while its queue is consumed from',
  },
  {
    name: 'rabbitmq-prefetches-without-end',
    promise: inOrder,
    file: 'src/sources/rabbitmq/prefetch.ts',
    find: 'if (bytes <= mostBytes || messages < 2) return false;',
    replace: 'if (bytes <= mostBytes || messages > 2) return false;',
    test: 'test/transports/rabbitmq/large-messages.test.ts',
    title: 'of large messages a consumer holds about 64 MiB, however many it may take at once',
  },
  {
    name: 'unroutable-counts-as-delivered',
    promise: notStored,
    file: 'src/transports/rabbitmq/properties.ts',
    find: '    mandatory: true,\n',
    replace: '    mandatory: false,\n',
    test: 'test/transports/rabbitmq/delivery.test.ts',
    title: 'a message that no queue receives is rejected',
  },
  {
    name: 'refusal-of-a-queue-is-not-heard',
    promise: notStored,
    file: 'src/transports/rabbitmq/exchange-channel.ts',
    find: '    if (error === null || error === undefined) {',
    replace: '    if (error === null || error === undefined || !this.#closing) {',
    test: 'test/transports/rabbitmq/delivery.test.ts',
    title: 'a message that a full queue refuses may be in others',
  },
  {
    name: 'refusal-of-one-queue-counts-for-all',
    promise: notStored,
    file: 'src/transports/rabbitmq/exchange-channel.ts',
    find: `        kind: 'ambiguous',`,
    replace: `        kind: 'rejected',`,
    test: 'test/transports/rabbitmq/delivery.test.ts',
    title: 'a message that a full queue refuses may be in others',
  },
  {
    name: 'blocked-messages-count-as-not-sent',
    promise: notStored,
    file: 'src/transports/rabbitmq/exchange-channel.ts',
    find: 'hold: blockedHold(reason), onWire: true }',
    replace: 'hold: blockedHold(reason), onWire: false }',
    test: 'test/transports/rabbitmq/faults.test.ts',
    title: 'a server that blocks its publishers holds the transport',
  },
  {
    name: 'forbidden-routing-key-holds-its-lane',
    promise: 'One bad message, key or topic slows no other (I15)',
    file: 'src/transports/rabbitmq/failure.ts',
    find: 'namesRoutingKey(reason) ? refusedRoutingKey :',
    replace: 'namesRoutingKey(reason) ? refusedExchange :',
    test: 'test/transports/rabbitmq/refusals.test.ts',
    title: 'a routing key that the user may not write refuses its messages alone',
  },
  {
    name: 'canceled-consumer-keeps-its-channel',
    promise: inOrder,
    file: 'src/sources/rabbitmq/open-queue.ts',
    find: 'const closed = channel.close().catch(() => undefined);',
    replace: 'const closed = Promise.resolve();',
    test: 'test/unit/sources/rabbitmq-open-queue.test.ts',
    title: 'a canceled consumer of a queue',
  },
  {
    name: 'open-deliveries-are-acknowledged',
    promise: inOrder,
    file: 'src/sources/rabbitmq/queue-feed.ts',
    find: 'this.#acknowledgeRow(ready, open.lastDone())',
    replace: 'this.#acknowledgeRow(ready, ready.at(-1))',
    test: 'test/transports/rabbitmq/source.test.ts',
    title: 'a message that is left open is delivered again',
  },
];
