import type { Mutation } from '../mutation.ts';

const expunged = 'expunged-is-gone';
const test = 'test/integration/operations/expunge.test.ts';
const keptTest = 'test/integration/inbox/expunge.test.ts';
const everywhere =
  'expunge removes payload and headers of a message wherever it lies, and leaves the rest of its row';
const notEnded = 'what may still be sent is not expunged, and the command says what to do first';
const kept = 'expunge removes body, headers and error of a discarded message, which stays unhandled for good';
const migration = 'prisma/migrations/20261121000000_outbox/migration.sql';

/** Bugs of expunging. */
export const expungeMutations: readonly Mutation[] = [
  {
    name: 'expunge-without-archived-leaves',
    promise: expunged,
    file: 'src/store/message/change.ts',
    find: "[...live, 'outbox.log_history', 'outbox.message_history']",
    replace: "[...live, 'outbox.message_history']",
    test,
    title: everywhere,
  },
  {
    name: 'expunge-leaves-the-headers',
    promise: expunged,
    file: 'src/store/message/expunge.ts',
    find: "set payload = '', headers = null,",
    replace: "set payload = '',",
    test,
    title: everywhere,
  },
  {
    name: 'edit-leaves-a-hash-of-the-payload',
    promise: expunged,
    file: 'src/store/message/edit.ts',
    find: `'payload', jsonb_build_object('changed',`,
    replace: `'payload', jsonb_build_object('before', outbox.sha256(o.payload), 'changed',`,
    test,
    title:
      'after the expunge of an edited message nothing is left from which its payload could be found by trying',
  },
  {
    name: 'expunge-of-what-is-waiting',
    promise: expunged,
    file: 'src/store/message/expunge.ts',
    find: "in ('confirmed', 'canceled',",
    replace: "in ('confirmed', 'waiting', 'canceled',",
    test,
    title: notEnded,
    built: true,
  },
  {
    name: 'expunge-of-what-awaits-a-receipt',
    promise: expunged,
    file: 'src/store/message/expunge.ts',
    find: ' and a.confirm_by is null as ended',
    replace: ' as ended',
    test,
    title: 'a published message that awaits its receipt is not expunged, and one that has it is',
  },
  {
    name: 'expunge-leaves-the-errors-of-tries',
    promise: expunged,
    file: 'src/store/message/expunge.ts',
    find: 'set error = null where',
    replace: 'set error = t.error where',
    test,
    title:
      'expunge removes the errors of a failed message once it is discarded, and repeated it is as before',
  },
  {
    name: 'archive-forgets-what-was-expunged',
    promise: expunged,
    file: 'src/store/retention/archive.ts',
    find: '    g.expunged_at\n',
    replace: '    null::timestamptz\n',
    test,
    title: 'an expunged message stays so when the archive moves it, and is not published again',
  },
  {
    name: 'taken-out-forgets-what-was-expunged',
    promise: expunged,
    file: migration,
    find: '    t.expunged_at\n',
    replace: '    null::timestamptz\n',
    test,
    title: 'an expunged message of the log stays so beside it',
  },
  {
    name: 'replay-of-what-was-expunged',
    promise: expunged,
    file: 'src/store/bulk/replay-selection.ts',
    find: 'is not null and ${matchesSql} and a.created_at < $11::text::timestamptz and a.expunged_at is null',
    replace: 'is not null and ${matchesSql} and a.created_at < $11::text::timestamptz',
    test,
    title: 'a replay leaves expunged messages out, also when they are named',
  },
  {
    name: 'replay-of-what-was-expunged-since',
    promise: expunged,
    file: 'src/store/bulk/replay.ts',
    find: ' and a.expunged_at is null and ${matchesSql}',
    replace: ' and ${matchesSql}',
    test,
    title: 'a replay that has chosen a message before it was expunged passes it over',
  },
  {
    name: 'expunged-id-is-taken-for-its-sender',
    promise: expunged,
    file: migration,
    find: "(e.expunged_at is not null or e.payload = x.m ->> 'payload')",
    replace: "e.payload = x.m ->> 'payload'",
    test,
    title: 'what was expunged is still a duplicate for its sender',
  },
  {
    name: 'stored-answer-keeps-errors',
    promise: expunged,
    file: 'src/api/table/bulk.ts',
    find: 'lastError: null })) };',
    replace: 'lastError: message.lastError })) };',
    test: 'test/integration/api/effects.test.ts',
    title: 'the stored answer of a bulk operation repeats no error',
  },
  {
    name: 'expunged-record-is-a-ghost',
    promise: expunged,
    file: 'src/store/verify/ghosts.ts',
    find: 'when m.expunged_at is null and encode(',
    replace: 'when encode(',
    test: 'test/integration/operations/verify-log.test.ts',
    title: 'I2: a record whose message was expunged is no ghost',
  },
  {
    name: 'expunge-of-a-kept-message-leaves-headers',
    promise: expunged,
    file: migration,
    find: "set body = null, wire = '{}', last_error",
    replace: 'set body = null, last_error',
    test: keptTest,
    title: kept,
  },
  {
    name: 'expunge-of-a-failed-kept-message',
    promise: expunged,
    file: migration,
    find: "when (l.message).state in ('parked', 'failed') then 'not-ended' end;",
    replace: "when (l.message).state in ('parked') then 'not-ended' end;",
    test: keptTest,
    title: kept,
  },
  {
    name: 'expunge-by-any-operator',
    promise: expunged,
    file: 'src/api/table/messages.ts',
    find: "    verb: 'expunge',\n    role: 'admin',",
    replace: "    verb: 'expunge',\n    role: 'operator',",
    test: 'test/integration/api/effects.test.ts',
    title: 'what has ended is expunged by an administrator, and then nobody is shown what it was',
  },
];
