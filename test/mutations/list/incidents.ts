import type { Mutation } from '../mutation.ts';

const promise = 'Alerts are told once';
const oneSchema = "Every line of a relay's or API's log has one schema, on one stream";

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
    name: 'connection-resumed-at-each-assignment',
    promise: oneSchema,
    file: 'src/inbox/start-consumer.ts',
    find: '      awaySince = undefined;\n',
    replace: '',
    test: 'test/unit/inbox/consumer-joins.test.ts',
    title:
      'it has joined while it is a member at every source, and a lost connection is reported until all continue',
  },
  {
    name: 'outage-told-every-five-seconds',
    promise: oneSchema,
    file: 'src/app/trouble-repeats.ts',
    find: 'lasts && lasting.has(event) ? ',
    replace: 'lasts && false ? ',
    test: 'test/unit/app/trouble-repeats.test.ts',
    title: 'an outage of a broker is a line where it begins, at growing distance while it lasts',
  },
  {
    name: 'end-of-an-outage-told-each-time-it-flaps',
    promise: oneSchema,
    file: 'src/app/trouble-repeats.ts',
    find: 'if (open.delete(ended)) tell(trouble);',
    replace: 'tell(trouble);',
    test: 'test/unit/app/trouble-repeats.test.ts',
    title: 'what comes and goes within five seconds is no line for each time',
  },
  {
    name: 'hold-told-by-each-owner',
    promise: oneSchema,
    file: 'src/app/trouble-lines.ts',
    find: 'if (event.continued && told.has(lane)) return false;',
    replace: '',
    test: 'test/unit/app/relay-news.test.ts',
    title: 'is one line, whoever owns the lane meanwhile',
  },
  {
    name: 'outage-of-the-database-told-by-each-activity',
    promise: oneSchema,
    file: 'src/app/trouble-lines.ts',
    find: "return !(away && event.type === 'error' &&",
    replace: "return !(!away && event.type === 'error' &&",
    test: 'test/unit/app/outage-lines.test.ts',
    title: 'PostgreSQL away is a line where it begins',
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
    name: 'line-of-an-archive-that-moved-nothing',
    promise: oneSchema,
    file: 'src/app/relay/relay-news.ts',
    find: 'event.count === 0 ? undefined : ',
    replace: '',
    test: 'test/unit/app/relay-news.test.ts',
    title: 'a look at the archive is a line if it moved something',
  },
  {
    name: 'try-of-several-names-the-first',
    promise: oneSchema,
    file: 'src/inbox/intake/apply.ts',
    find: 'chunk.length === 1 ? keyedOf(first) : positionOf(first)',
    replace: 'chunk.length === 1 ? positionOf(first) : keyedOf(first)',
    test: 'test/unit/inbox/intake-batches.test.ts',
    title: 'a failed transaction is reported once, at its first message',
  },
  {
    name: 'repeated-secret-told',
    promise: 'Secrets stay secret',
    file: 'src/core/secrets.ts',
    find: "told = told.replaceAll(one, '…');",
    replace: 'told = told.replace(one, one);',
    test: 'test/integration/doctor/repeated-secrets.test.ts',
    title: 'that repeats the credentials is quoted without them',
  },
  {
    name: 'malformed-address-told',
    promise: 'Secrets stay secret',
    file: 'src/store/database/client-config.ts',
    find: "{ details: { setting: 'database.url' } },",
    replace: "{ details: { setting: 'database.url' }, cause: error },",
    test: 'test/unit/house/foreign-text.property.test.ts',
    title: 'an address that cannot be read is refused without its password',
  },
  {
    name: 'full-server-reads-as-away',
    promise: 'An operator sees what is unreachable',
    file: 'src/store/database/database-failure.ts',
    find: 'if (code === tooManyConnections)',
    replace: 'if (code === `${tooManyConnections}0`)',
    test: 'test/integration/database/connections-exhausted.test.ts',
    title: 'operations, doctor and the HTTP API name the limit',
  },
];
