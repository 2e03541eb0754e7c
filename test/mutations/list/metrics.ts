import type { Mutation } from '../mutation.ts';

const kept = 'Metrics say what has happened';
const delays = 'test/unit/relay/batch-delays.test.ts';
const counts = 'test/unit/inbox/consumer-health.test.ts';
const figures = 'test/unit/app/figure-metrics.test.ts';
const sums = 'test/unit/inbox/handling-metrics.test.ts';

/** What relays and consumers measure. */
export const metricMutations: readonly Mutation[] = [
  {
    name: 'lateness-counts-as-delay',
    promise: kept,
    file: 'src/relay/batch-delays.ts',
    find: 'if (dueAtMs === null) delaysMs',
    replace: 'if (dueAtMs !== undefined) delaysMs',
    test: delays,
    title: 'one that had to wait from its due time',
  },
  {
    name: 'retries-count-as-delay',
    promise: kept,
    file: 'src/relay/batch-delays.ts',
    find: 'if (attempts > 0 || resent) return;',
    replace: 'if (resent) return;',
    test: delays,
    title: 'retried or sent again',
  },
  {
    name: 'delays-of-the-first-messages-only',
    promise: kept,
    file: 'src/relay/batch-delays.ts',
    find: 'const index = Math.floor(place);',
    replace: 'const index = Math.floor(place / step);',
    test: delays,
    title: 'evenly spread',
  },
  {
    name: 'foreign-topics-are-counted-one-by-one',
    promise: kept,
    file: 'src/inbox/consumer-counts.ts',
    find: '(counted ?? this.#ofOthers)[end] += 1;',
    replace: 'if (counted !== undefined) counted[end] += 1;',
    test: counts,
    title: 'counts begin at zero',
  },
  {
    name: 'counts-end-with-their-consumer',
    promise: kept,
    file: 'src/inbox/handling/handled-counts.ts',
    find: 'for (const count of read()) this.add(count);',
    replace: 'read();',
    test: sums,
    title: 'is told after its stop',
  },
  {
    name: 'one-consumer-counts-for-all',
    promise: kept,
    file: 'src/inbox/handling/handled-counts.ts',
    find: 'value: value + (sums.get(key)?.value ?? 0)',
    replace: 'value: Math.max(value, sums.get(key)?.value ?? 0)',
    test: sums,
    title: 'is told as one sum',
  },
  {
    name: 'figures-of-a-gone-group-stay',
    promise: kept,
    file: 'src/app/relay/figure-metrics.ts',
    find: 'return this.#groups.has(group) && !groups',
    replace: 'return !this.#groups.has(group) && !groups',
    test: figures,
    title: 'of a group that is gone',
  },
  {
    name: 'unknown-lag-is-none',
    promise: kept,
    file: 'src/app/relay/figure-metrics.ts',
    find: 'return this.#groups.has(group) && !groups',
    replace: 'return this.#groups.has(group) || !groups',
    test: figures,
    title: 'a lag that no relay knows at the moment',
  },
  {
    name: 'claim-forgets-due-times',
    promise: kept,
    file: 'outbox.write_claim()',
    find: ' or b.due_at is not null',
    replace: '',
    test: 'test/integration/telemetry/metrics.test.ts',
    title: 'count what they deliver',
  },
  {
    name: 'tries-of-handlers-not-counted',
    promise: kept,
    file: 'src/inbox/route.ts',
    find: 'context.tried?.(this.topic, 1);',
    replace: '',
    test: 'test/integration/telemetry/metrics.test.ts',
    title: 'count what they deliver',
  },
  {
    name: 'failed-tries-of-handlers-not-counted',
    promise: kept,
    file: 'src/inbox/handling/handler-transactions.ts',
    find: 'metrics?.tried(handling.tries, { error });',
    replace: 'metrics?.tried(handling.tries);',
    test: 'test/integration/telemetry/metrics.test.ts',
    title: 'count what they deliver',
  },
  {
    name: 'received-repetition-counts-as-handled',
    promise: kept,
    file: 'src/inbox/http/answer-request.ts',
    find: 'if (duplicate) await receiveMetrics.repeated(received);',
    replace: 'if (duplicate && received.group === "") await receiveMetrics.repeated(received);',
    test: 'test/integration/telemetry/receive-metrics.test.ts',
    title: 'what is received by HTTP is measured as what a consumer handles',
  },
];
