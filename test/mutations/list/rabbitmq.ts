import type { Mutation } from '../mutation.ts';

/** What a server that confirms, returns and refuses each message alone must not make of them. */
export const rabbitmqMutations: readonly Mutation[] = [
  {
    name: 'forbidden-routing-key-holds-its-lane',
    promise: 'one-bad-slows-no-other',
    file: 'src/brokers/rabbitmq/transport/failure.ts',
    find: 'namesRoutingKey(reason) ? refusedRoutingKey :',
    replace: 'namesRoutingKey(reason) ? refusedExchange :',
    test: 'test/transports/rabbitmq/refusals.test.ts',
    title: 'a routing key that the user may not write refuses its messages alone',
  },
];
