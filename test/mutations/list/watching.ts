import type { Mutation } from '../mutation.ts';

const byExitCode = 'A script learns the state by the exit code';
const gapless = '`tail` leaves out no message without saying so';
const oneSchema = "Every line of a relay's log has one schema, on one stream";
const probed = 'Probes restart no process for a server that is away';

/** What scripts, probes and people watch. */
export const watchingMutations: readonly Mutation[] = [
  {
    name: 'unknown-figure-fails',
    promise: byExitCode,
    file: 'src/operations/status-conditions.ts',
    find: 'holds: value !== null && compare(value, bound)',
    replace: 'holds: compare(value ?? 0, bound)',
    test: 'test/unit/operations/status-conditions.test.ts',
  },
  {
    name: 'dead-relays-counted',
    promise: byExitCode,
    file: 'src/operations/status-conditions.ts',
    find: "relays: count('relays that run', (at) => total(at.relays, ({ alive }) => (alive ? 1 : 0))),",
    replace: "relays: count('relays that run', (at) => at.relays.length),",
    test: 'test/unit/operations/status-conditions.test.ts',
  },
  {
    name: 'failed-condition-ends-with-0',
    promise: byExitCode,
    file: 'src/cli/status-command.ts',
    find: 'return failed.length === 0 ? exitCodes.ok : exitCodes.failed;',
    replace: 'return exitCodes.ok;',
    test: 'test/integration/cli/fail-if.test.ts',
    title: 'status --fail-if ends with 1',
    built: true,
  },
  {
    name: 'tail-misses-late-commits',
    promise: gapless,
    file: 'src/store/message/tail.ts',
    find: 'from outbox.message m where m.position > 0 and m.xid = running.xid offset 0',
    replace: 'from outbox.message m where m.position > 0 and m.xid = running.xid and false offset 0',
    test: 'test/integration/operations/tail.test.ts',
    title: 'tail finds what an older transaction commits late',
  },
  {
    name: 'tail-hides-gaps',
    promise: gapless,
    file: 'src/operations/tail.ts',
    find: 'this.#gap ||= full;',
    replace: '',
    test: 'test/integration/operations/tail.test.ts',
    title: 'more than a look tells, or than a tail can follow, is marked as a gap',
  },
  {
    name: 'tail-follows-nothing',
    promise: gapless,
    file: 'src/operations/tail.ts',
    find: '    this.#ready.add(id);\n',
    replace: '',
    test: 'test/integration/operations/tail.test.ts',
    title: 'tail tells each new message once',
  },
  {
    name: 'holds-of-lanes-as-repeats',
    promise: oneSchema,
    file: 'src/app/trouble-lines.ts',
    find: 'laneIn(trouble.facts) + JSON.stringify(facts)',
    replace: 'JSON.stringify(facts)',
    test: 'test/unit/app/trouble-lines.test.ts',
  },
  {
    name: 'relay-logs-troubles-to-standard-error',
    promise: oneSchema,
    file: 'src/cli/relay-command.ts',
    find: 'startRelay(checked, { report: relayNews(log.info), logger: log })',
    replace: 'startRelay(checked, { report: relayNews(log.info) })',
    test: 'test/integration/cli/relay-log.test.ts',
    title: 'every line of a relay has the schema of logs',
    built: true,
  },
  {
    name: 'live-only-while-joined',
    promise: probed,
    file: 'src/app/health-server.ts',
    find: "'/live': ({ state }) => state !== 'stopped',",
    replace: "'/live': ({ joined }) => joined,",
    test: 'test/unit/app/health-server.test.ts',
  },
  {
    name: 'probes-show-texts-of-errors',
    promise: probed,
    file: 'src/app/health-server.ts',
    find: '{ code: error.code }',
    replace: '{ code: error.code, error: error.message }',
    test: 'test/unit/app/health-server.test.ts',
  },
];
