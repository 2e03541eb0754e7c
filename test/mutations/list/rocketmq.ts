import type { Mutation } from '../mutation.ts';

const unreachable = 'unreachable-is-visible';

/** What a server that takes time with its messages, and answers each alone, must not make of them. */
export const rocketmqMutations: readonly Mutation[] = [
  {
    name: 'wrong-secrets-are-missing-privileges',
    promise: unreachable,
    file: 'src/brokers/rocketmq/client/administration.ts',
    find: 'ofUser.test(said)',
    replace: 'said === ofUser.source',
    test: 'test/transports/rocketmq/enforced.test.ts',
    title: 'every call says that the user is refused, and all topics wait',
  },
  {
    name: 'brokers-are-asked-without-the-tls-of-proxies',
    promise: unreachable,
    file: 'src/brokers/rocketmq/transport/rocketmq-options.ts',
    find: 'return (brokerTls ?? secured)();',
    replace: 'return brokerTls?.() ?? false;',
    test: 'test/unit/brokers/rocketmq/options.test.ts',
    title: 'brokers are asked as proxies are, with or without TLS, unless an option of their own tells',
  },
  {
    name: 'another-server-ends-the-process',
    promise: unreachable,
    file: 'src/brokers/rocketmq/client/remoting-link.ts',
    find: 'if (headerEnd > frame.length) return undefined;',
    replace: 'if (headerEnd > frame.length) throw new Error();',
    test: 'test/unit/brokers/rocketmq/remoting-link.test.ts',
    title: 'where RocketMQ should be is an error of the question, and ends nothing else',
  },
];
