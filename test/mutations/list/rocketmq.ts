import type { Mutation } from '../mutation.ts';

const notStored = 'rocketmq-unacknowledged-is-unpublished';
const unreachable = 'unreachable-is-visible';
const inOrder = 'rocketmq-order-and-effects';

/** What a server that takes time with its messages, and answers each alone, must not make of them. */
export const rocketmqMutations: readonly Mutation[] = [
  {
    name: 'only-one-name-server-asked',
    promise: 'confirmed-was-processed',
    file: 'src/brokers/rocketmq/client/administration.ts',
    find: 'const all = told.flat();',
    replace: 'const all = told.find((some) => some.length > 0) ?? [];',
    test: 'test/transports/rocketmq/offsets.test.ts',
    title: 'brokers that only some of the name servers know are all asked',
  },
  {
    name: 'missing-topic-fails-its-messages',
    promise: notStored,
    file: 'src/brokers/rocketmq/transport/send-failure.ts',
    find: '  TOPIC_NOT_FOUND: topicAway,\n',
    replace: '  TOPIC_NOT_FOUND: permanent,\n',
    test: 'test/unit/brokers/rocketmq/failure.test.ts',
    title: 'has the outcome that fits its meaning',
  },
  {
    name: 'one-missing-privilege-stops-all-topics',
    promise: notStored,
    file: 'src/brokers/rocketmq/transport/send-failure.ts',
    find: '  if (lacksPrivilege(error)) return topicAway;\n',
    replace: '',
    test: 'test/unit/brokers/rocketmq/failure.test.ts',
    title: 'a missing privilege, which has the status of a wrong secret, concerns its topic only',
  },
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
    name: 'groups-that-give-messages-up-are-joined',
    promise: inOrder,
    file: 'src/brokers/rocketmq/source/membership.ts',
    find: 'if (maxAttempts === 0 || maxAttempts >= leastAttempts) return;',
    replace: 'if (maxAttempts > 0 || maxAttempts >= leastAttempts) return;',
    test: 'test/transports/rocketmq/receiving.test.ts',
    title:
      'a group that is missing or puts messages aside after few deliveries is reported, and joined once corrected',
  },
  {
    name: 'messages-behind-a-lost-one-are-kept',
    promise: inOrder,
    file: 'src/brokers/rocketmq/source/leased-partition.ts',
    find: 'for (const message of row.slice(first)) message.lost = true;',
    replace: 'for (const message of row.slice(first, first + 1)) message.lost = true;',
    test: 'test/unit/brokers/rocketmq/leased-partition.test.ts',
    title: 'with order, messages waiting behind one that is lost',
  },
  {
    name: 'messages-of-any-size-are-received',
    promise: inOrder,
    file: 'src/brokers/rocketmq/source/group-member.ts',
    find: 'const mostBytes = 64 *',
    replace: 'const mostBytes = 6_400 *',
    test: 'test/transports/rocketmq/large-messages.test.ts',
  },
  {
    name: 'messages-in-hand-are-not-renewed',
    promise: inOrder,
    file: 'src/brokers/rocketmq/source/group-member.ts',
    find: 'await this.#leases.renew(all.flatMap((one) => one.all()));',
    replace: 'await this.#leases.renew([]);',
    test: 'test/transports/rocketmq/receiving.test.ts',
    title: ': a handler may take longer than the invisible time and keeps its messages',
  },
  {
    name: 'a-stop-ends-the-renewal-first',
    promise: inOrder,
    file: 'src/brokers/rocketmq/source/group-member.ts',
    find: `    await Promise.all([...this.#polls, ...this.#handing]);
    clearInterval(this.#renewal);
`,
    replace: `    clearInterval(this.#renewal);
    await Promise.all([...this.#polls, ...this.#handing]);
`,
    test: 'test/transports/rocketmq/receiving.test.ts',
    title: 'a member told to stop keeps what it has in hand until its handler has ended',
  },
  {
    name: 'a-lost-message-is-overtaken',
    promise: inOrder,
    file: 'src/brokers/rocketmq/source/leased-partition.ts',
    find: 'if (this.#ordered) loseBehind(',
    replace: 'if (!this.#ordered) loseBehind(',
    test: 'test/unit/brokers/rocketmq/leased-partition.test.ts',
    title: 'waiting messages behind a lost one are lost with it if order is kept:',
  },
  {
    name: 'open-messages-of-rocketmq-count-as-passed',
    promise: 'confirmed-was-processed',
    file: 'src/brokers/rocketmq/client/group-offsets.ts',
    find: `String(numbers['consumerOffset'])`,
    replace: `String(numbers['brokerOffset'])`,
    test: 'test/transports/rocketmq/offsets.test.ts',
  },
  {
    name: 'messages-behind-an-open-one-are-acknowledged',
    promise: inOrder,
    file: 'src/brokers/offered-batch.ts',
    find: 'if (!this.#ordered) return',
    replace: 'if (this.#states.length > 0) return',
    test: 'test/unit/brokers/rocketmq/leased-partition.test.ts',
    title: 'with order, no message after an open one is done',
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
