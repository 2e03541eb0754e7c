import type { Mutation } from '../mutation.ts';

const schemaNamed = 'missing-outbox-reported';
const cancelHolds = 'cancel-holds';

/** A message is stored, canceled or changed by its sender, or edited and withdrawn by an operator. */
export const writingMutations: readonly Mutation[] = [
  {
    name: 'missing-schema-unnamed',
    promise: schemaNamed,
    file: 'src/store/database/transaction.ts',
    find: '      throw statementFailure(error) ?? error;',
    replace: '      throw error;',
    test: 'test/integration/database/schema-missing.test.ts',
    title: 'every call over',
  },
  {
    name: 'table-of-user-named-as-missing-schema',
    promise: schemaNamed,
    file: 'src/store/database/schema-missing.ts',
    find: `'42P01': /(?<![\\w$.])outbox\\.\\w+/,`,
    replace: `'42P01': /.+/,`,
    test: 'test/integration/database/schema-missing.test.ts',
    title: 'the error of an own trigger on a table of the outbox is unchanged',
  },
  {
    name: 'cancel-of-maybe-published',
    promise: cancelHolds,
    file: 'outbox.is_open()',
    find: ' and not m.maybe_published',
    replace: '',
    test: 'test/integration/sending/change.test.ts',
  },
  {
    name: 'late-cancel-keeps-its-lock',
    promise: cancelHolds,
    file: 'outbox.lock_open()',
    find: `raise exception 'outbox: the message is no longer open' using errcode = 'OB003'`,
    replace: 'return false',
    test: 'test/integration/sending/locks.test.ts',
    title: 'a change that comes too late because it waited for a release keeps no lock of the message:',
  },
  {
    name: 'late-cancel-of-a-key-keeps-its-locks',
    promise: cancelHolds,
    file: 'outbox.cancel_key()',
    find: 'if cardinality(locked) = cardinality(open) then',
    replace: 'if true then',
    test: 'test/integration/sending/locks.test.ts',
    title: 'a change that comes too late because it waited for a release keeps no lock of the message:',
  },
  {
    name: 'cancel-by-ref-of-the-previous-message',
    promise: cancelHolds,
    file: 'outbox.cancel()',
    find: 'exit when cancel.id is not null or',
    replace: 'exit when true or',
    test: 'test/integration/sending/locks.test.ts',
    title: 'a change by ref reaches the message that got the ref in the transaction that it waited for:',
  },
  {
    name: 'withdraw-without-suspicion',
    promise: cancelHolds,
    file: 'src/store/message/withdraw.ts',
    find: '       and not coalesce(pg_visible_in_snapshot(m.xid, l.suspect), false)\n',
    replace: '',
    test: 'test/integration/operations/withdraw.test.ts',
    title:
      'messages that a dead owner may have published are too late, those sent after the takeover are not',
  },
  {
    name: 'dry-run-trusts-a-dead-owner',
    promise: 'cancel-holds',
    file: 'src/store/message/withdraw.ts',
    find: 'then pg_current_snapshot() else l.suspect end',
    replace: 'then l.suspect else l.suspect end',
    test: 'test/integration/operations/withdraw.test.ts',
    title: 'a dry run answers for the lane ',
  },
  {
    name: 'refusal-not-audited',
    promise: 'actions-audited',
    file: 'src/store/audit/audit.ts',
    find: `answered.map(({ answer: { id, topic, result }, details }) => {`,
    replace: `answered.filter(({ answer }) => answer.result !== 'too-late').map(({ answer: { id, topic, result }, details }) => {`,
    test: 'test/invariants/audit.test.ts',
    title: 'I14 refusals of single messages are recorded as well',
  },
];
