import type { Mutation } from '../mutation.ts';

const byExitCode = 'state-by-exit-code';
const gapless = 'tail-omits-nothing-silently';
const probed = 'probes-restart-nothing';
const refused = 'arguments-refused-at-the-border';
const withoutRight = 'api-shows-nothing-without-right';
const everyOnce = 'pages-show-each-once';
const byRequests = 'test/integration/api/requests.test.ts';

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
    file: 'outbox.visible_since()',
    find: 'm.xid = running.xid offset 0',
    replace: 'm.xid = running.xid and false offset 0',
    test: 'test/integration/operations/tail.test.ts',
    title: 'tail finds what an older transaction commits late',
  },
  {
    name: 'tail-scans-passed-leaves',
    promise: gapless,
    file: 'src/store/retention/leaf.ts',
    find: "    await moveTo(sql, n, 'log_passed');\n",
    replace:
      "    await moveTo(sql, n, 'log_passed');\n    await sql.query(`drop index outbox.log_${n}_xid_idx`);\n",
    test: 'test/integration/operations/tail-plan.test.ts',
    title: 'a look of a tail reads only what is new, ',
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
    file: 'src/core/health.ts',
    find: '{ code: error.code }',
    replace: '{ code: error.code, error: error.message }',
    test: 'test/unit/app/health-server.test.ts',
  },
  {
    name: 'list-page-after-any-number',
    promise: refused,
    file: 'src/operations/list.ts',
    find: 'BigInt(position) > lastPosition ||',
    replace: 'BigInt(position) > 9n * lastPosition ||',
    test: byRequests,
    title: 'is answered with',
  },
  {
    name: 'kept-pages-lose-a-shared-position',
    promise: everyOnce,
    file: 'src/store/inbox/list.ts',
    find: '(p.position, p.message_id) < (coalesce($7::bigint, 9223372036854775807), coalesce($8::text, \'\') collate "C")',
    replace: 'p.position < coalesce($7::bigint, 9223372036854775807) and ($8::text is null or true)',
    test: 'test/integration/api/second-pages.test.ts',
    title: 'tell each message of one position once, whatever changes between them',
  },
  {
    name: 'list-page-without-its-floor',
    promise: everyOnce,
    file: 'src/store/message/list.ts',
    find: '(a.position, a.id) >= (f.position, f.id)',
    replace: 'a.position > f.position',
    test: 'test/integration/operations/list.test.ts',
    title: 'go on where a message that was edited three times shares its position',
  },
  {
    name: 'api-edit-quotes-the-payload',
    promise: withoutRight,
    file: 'src/operations/edit-content.ts',
    find: '${placeIn(reasonOf(error))}',
    replace: '${placeIn(reasonOf(error)) + reasonOf(error)}',
    test: byRequests,
    title: 'a payload that is no JSON is told of without a part of it',
  },
  {
    name: 'api-unfinished-answer-stored',
    promise: 'repeated-request-acts-once',
    file: 'src/api/answer.ts',
    find: 'operation.unfinished?.(value) === true',
    replace: 'operation.unfinished?.(value) === undefined',
    test: byRequests,
    title: 'an answer that is not done is not that of its key: a repeat goes on',
  },
  {
    name: 'api-incomplete-pause-stored',
    promise: 'repeated-request-acts-once',
    file: 'src/api/table/delivery.ts',
    find: "'complete' in answer && answer.complete === false",
    replace: "'complete' in answer && answer.complete === null",
    test: byRequests,
    title: 'an answer that is not done is not that of its key: a repeat goes on',
  },
];
