import type { Mutation } from '../mutation.ts';

const promise = 'alerts-told-once';

export const incidentMutations: readonly Mutation[] = [
  {
    name: 'alert-leads-to-no-section',
    promise,
    file: 'src/alerts/runbook-entry.ts',
    find: 'alert.toLowerCase()',
    replace: 'alert',
    test: 'test/unit/house/architecture.test.ts',
    title: 'docs/runbook.md has a section for every alert',
  },
  {
    name: 'retried-message-is-parked-since-it-arrived',
    promise,
    file: 'src/store/inbox/status.ts',
    find: 'greatest(p.arrived_at, k.parked_at) as since',
    replace: 'p.arrived_at as since',
    test: 'test/integration/inbox/status-limits.test.ts',
    title: 'a failed message that is retried has been parked since then',
  },
  {
    name: 'late-topic-swallows-the-alert-of-another',
    promise,
    file: 'src/alerts/rules.ts',
    find: `
        .filter(({ announced }) => announced)
        .map(({ oldestDueMs, reason, topic }) => ({
          subject: about('topic', topic),`,
    replace: `
        .filter(({ topic }) => topic !== '')
        .map(({ oldestDueMs, reason, topic }) => ({
          subject: topic.slice(0, 0),`,
    test: 'test/integration/alerts/incidents.test.ts',
    title: 'in an hour with all incidents',
  },
  {
    name: 'end-of-an-outage-swallowed-by-a-long-silence',
    promise,
    file: 'src/alerts/outage-teller.ts',
    find: 'return last === undefined ? performance.now() - overMs <= unknownForMs : !last.over;',
    replace: 'return performance.now() - overMs <= unknownForMs && last?.over !== true;',
    test: 'test/unit/alerts/outage-teller.test.ts',
    title: 'who was told of an outage is told that it is over once its rule is no longer silenced',
  },
  {
    name: 'group-without-a-consumer-passes-the-doctor',
    promise,
    file: 'src/operations/doctor/seen-checks.ts',
    find: '(consumers.get(group) ?? 0) === 0',
    replace: 'consumers.get(group) === 0',
    test: 'test/integration/doctor/seen.test.ts',
    title: 'doctor names a group for which messages wait',
  },
  {
    name: 'repeated-secret-told',
    promise: 'secrets-stay-secret',
    file: 'src/core/secrets.ts',
    find: "told = told.replaceAll(one, '…');",
    replace: 'told = told.replace(one, one);',
    test: 'test/integration/doctor/repeated-secrets.test.ts',
    title: 'that repeats the credentials is quoted without them',
  },
  {
    name: 'malformed-address-told',
    promise: 'secrets-stay-secret',
    file: 'src/store/database/client-config.ts',
    find: "{ details: { setting: 'database.url' } },",
    replace: "{ details: { setting: 'database.url' }, cause: error },",
    test: 'test/unit/house/foreign-text.property.test.ts',
    title: 'an address that cannot be read is refused without its password',
  },
  {
    name: 'secret-behind-a-user-told',
    promise: 'secrets-stay-secret',
    file: 'src/core/secrets.ts',
    find: 'const base64 = [0, 1, 2].map(',
    replace: 'const base64 = [0].map(',
    test: 'test/integration/doctor/repeated-tokens.test.ts',
    title: 'a mail server that repeats the credentials, as they came',
  },
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
    name: 'metrics-quote-names-of-errors',
    promise: 'secrets-stay-secret',
    file: 'src/core/error-type.ts',
    find: 'return className.test(error.name) ?',
    replace: 'return error.name !== undefined ?',
    test: 'test/unit/core/error-type.test.ts',
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
