import type { Mutation } from '../mutation.ts';

const notStored = 'What RabbitMQ has not stored does not count as published';
const inOrder = 'Over RabbitMQ keys keep their order, and effects happen once';

/** What a server that confirms, returns and refuses each message alone must not make of them. */
export const rabbitmqMutations: readonly Mutation[] = [
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
    title: 'a message that a full queue refuses is rejected',
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
