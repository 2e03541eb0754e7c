import type { Mutation } from '../mutation.ts';

export const incidentMutations: readonly Mutation[] = [
  {
    name: 'health-as-json-quotes-values',
    promise: 'probes-restart-nothing',
    file: 'src/core/health.ts',
    find: 'return withoutText(this);',
    replace: 'return { ...this };',
    test: 'test/unit/core/health.test.ts',
    title: 'a failure has no value of a client or a handler but in its text',
  },
  {
    name: 'other-server-taken-for-rocketmq',
    promise: 'unreachable-is-visible',
    file: 'src/brokers/rocketmq/client/administration.ts',
    find: 'if (!isObject(brokers)) throw',
    replace: 'if (brokers === 0) throw',
    test: 'test/unit/brokers/rocketmq/foreign-answers.test.ts',
    title: 'a name server that answers',
  },
  {
    name: 'full-server-reads-as-away',
    promise: 'unreachable-is-visible',
    file: 'src/store/database/database-failure.ts',
    find: 'if (code === tooManyConnections)',
    replace: 'if (code === `${tooManyConnections}0`)',
    test: 'test/integration/database/connections-exhausted.test.ts',
    title: 'operations, doctor and the HTTP API name the limit',
  },
];
