import type { Bugs } from '../mutation.ts';

/** What operators do. */
export const actionBugs: Bugs = {
  'actions-audited': {
    'test/invariants/audit.test.ts': {
      'refusal-not-audited': {
        file: 'src/store/audit/audit.ts',
        find: 'answered.map(({ answer: { id, topic, result }, details }) => {',
        replace: `answered.filter(({ answer }) => answer.result !== 'too-late').map(({ answer: { id, topic, result }, details }) => {`,
      },
    },
    'test/integration/temporal/cancel.test.ts': {
      'cancel-in-temporal-leaves-the-row': {
        file: 'workflows/deliver-message.ts',
        find: `if ((await cancelMessage(id)) === 'canceled') throw`,
        replace: `if (id !== '' || (await cancelMessage(id)) === 'canceled') throw`,
        built: true,
      },
    },
    'test/integration/operations/verify-audit.test.ts': {
      'audit-sealed-without-the-one-before': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: `outbox.sha256(coalesce(last.hash, '') || outbox.sealed_text(new))`,
        replace: `outbox.sha256(coalesce(left(last.hash, 0), '') || outbox.sealed_text(new))`,
      },
    },
    'test/contract/bulk.test.ts': {
      'filter-not-asked-under-the-lock': {
        file: 'outbox.is_asked_for()',
        find: 'p_message.state = any (p_states)',
        replace: 'true',
        title: 'a locked message that no longer matches',
      },
    },
    'test/invariants/kept-bulk-once.test.ts': {
      'bulk-page-not-counted-with-its-messages': {
        file: 'src/store/bulk/page.ts',
        find: 'const counts = add(bulk.counts, answers);',
        replace: 'const counts = add(bulk.counts, bulk.group === null ? answers : []);',
        built: true,
      },
    },
    'test/unit/operations/bulk-expected.test.ts': {
      'uncounted-selection-is-the-expected-number': {
        file: 'src/operations/bulk/start.ts',
        find: 'expect !== undefined && expect !== count',
        replace: 'expect !== undefined && exact && expect !== count',
      },
    },
    'test/integration/lanes/change-busy.test.ts': {
      'busy-counts-as-done': {
        file: 'src/operations/change.ts',
        find: `'busy',`,
      },
    },
  },
  'expunged-is-gone': {
    'test/integration/operations/expunge.test.ts': {
      'expunge-without-archived-leaves': {
        file: 'src/store/message/change.ts',
        find: `log_history', 'outbox.`,
        title: 'expunge removes payload and headers of a message wherever it lies, and leaves the rest of',
      },
      'expunge-leaves-the-headers': {
        file: 'src/store/message/expunge.ts',
        find: `set payload = '', headers = null,`,
        replace: `set payload = '',`,
        title: 'expunge removes payload and headers of a message wherever it lies, and leaves the rest of',
      },
      'edit-leaves-a-hash-of-the-payload': {
        file: 'src/store/message/edit.ts',
        find: `'payload', jsonb_build_object('changed',`,
        replace: `'payload', jsonb_build_object('before', outbox.sha256(o.payload), 'changed',`,
        title: 'after the expunge of an edited message nothing is left from which its payload could be',
      },
      'expunge-of-what-is-waiting': {
        file: 'src/store/message/expunge.ts',
        find: `in ('confirmed', 'canceled',`,
        replace: `in ('confirmed', 'waiting', 'canceled',`,
        title: 'what may still be sent is not expunged, and the command says what to do first',
        built: true,
      },
      'expunge-of-what-awaits-a-receipt': {
        file: 'src/store/message/expunge.ts',
        find: 'and a.confirm_by is null',
        title: 'a published message that awaits its receipt is not expunged, and one that has it is',
      },
      'expunge-leaves-the-errors-of-tries': {
        file: 'src/store/message/expunge.ts',
        find: 'set error = null where',
        replace: 'set error = t.error where',
        title: 'expunge removes the errors of a failed message once it is discarded, and repeated it is',
      },
      'archive-forgets-what-was-expunged': {
        file: 'src/store/retention/archive.ts',
        find: 'g.expunged_at',
        replace: 'null::timestamptz',
        title: 'an expunged message stays so when the archive moves it, and is not published again',
      },
      'taken-out-forgets-what-was-expunged': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: 't.expunged_at',
        replace: 'null::timestamptz',
        title: 'an expunged message of the log stays so beside it',
      },
      'replay-of-what-was-expunged': {
        file: 'src/store/bulk/replay-selection.ts',
        find: 'is not null and ${matchesSql} and a.created_at < $11::text::timestamptz and a.expunged_at is null',
        replace: 'is not null and ${matchesSql} and a.created_at < $11::text::timestamptz',
        title: 'a replay leaves expunged messages out, also when they are named',
      },
      'replay-of-what-was-expunged-since': {
        file: 'src/store/bulk/replay.ts',
        find: 'a.expunged_at is null and',
        title: 'a replay that has chosen a message before it was expunged passes it over',
      },
      'expunged-id-is-taken-for-its-sender': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: `(e.expunged_at is not null or e.payload = x.m ->> 'payload')`,
        replace: `e.payload = x.m ->> 'payload'`,
        title: 'what was expunged is still a duplicate for its sender',
      },
    },
    'test/integration/api/effects.test.ts': {
      'stored-answer-keeps-errors': {
        file: 'src/api/table/bulk.ts',
        find: 'lastError: null })) };',
        replace: 'lastError: message.lastError })) };',
        title: 'the stored answer of a bulk operation repeats no error',
      },
      'expunge-by-any-operator': {
        file: 'src/operations/messages/messages.ts',
        find: "...change, role: 'admin'",
        replace: "...change, role: 'operator'",
        title: 'what has ended is expunged by an administrator, and then nobody is shown what it was',
      },
    },
    'test/integration/operations/verify-log.test.ts': {
      'expunged-record-is-a-ghost': {
        file: 'src/store/verify/ghosts.ts',
        find: 'm.expunged_at is null and',
        title: 'I2: a record whose message was expunged is no ghost',
      },
    },
    'test/integration/inbox/expunge.test.ts': {
      'expunge-of-a-kept-message-leaves-headers': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: `set body = null, wire = '{}', last_error`,
        replace: 'set body = null, last_error',
      },
      'expunge-of-a-failed-kept-message': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: `when (l.message).state in ('parked', 'failed') then 'not-ended' end;`,
        replace: `when (l.message).state in ('parked') then 'not-ended' end;`,
      },
    },
  },
  'replay-once-in-order': {
    'test/integration/operations/replay.test.ts': {
      'replay-without-archived-leaves': {
        file: 'src/store/bulk/replay-selection.ts',
        find: `a.lane, null, null, null, null, null from archived a where 'published' = any($3::text[])`,
        replace: 'a.lane, null, null, null, null, null from archived a where false',
        title: 'the command replays a topic from history and live tables in the order of each key, with',
      },
      'replay-in-no-order': {
        file: 'src/store/bulk/replay.ts',
        find: 'and ${matchesSql} order by a.position, a.id`',
        replace: 'and ${matchesSql} order by a.position desc, a.id`',
        title: 'the command replays a topic from history and live tables in the order of each key, with',
      },
      'named-replay-of-everything': {
        file: 'src/store/bulk/messages.ts',
        find: 'walkOfReplay({ filter, selectedUntil }, named)',
        replace: 'walkOfReplay({ filter, selectedUntil })',
        title: 'a replay of named messages sends these in their order',
      },
    },
    'test/integration/operations/replay-parts.test.ts': {
      'replay-page-at-once': {
        file: 'src/store/bulk/replay.ts',
        find: 'left = partBytes - bytes;',
        replace: 'left = Number.MAX_SAFE_INTEGER;',
      },
    },
  },
  'restore-loses-nothing-unnoticed': {
    'test/integration/inbox/restore.test.ts': {
      'passed-without-effect-not-told': {
        file: 'src/store/verify/passed.ts',
        find: 'f.type = p.type where not p.handled`;',
        replace: 'f.type = p.type where p.handled`;',
      },
      'group-rewound-forward': {
        file: 'src/brokers/kafka/client/rewind-group.ts',
        find: 'after: BigInt(wanted) < BigInt(offset) ? wanted : offset',
        replace: 'after: wanted',
      },
    },
  },
  'withdrawal-leaves-no-pause': {
    'test/integration/operations/withdraw.test.ts': {
      'pause-of-an-operator-taken-for-its-own': {
        file: 'src/store/lane/pause.ts',
        find: `await sql.query('select from outbox.topic where name = $1 for update', [topic]);
    const rows`,
        replace: 'const rows',
        title: 'a withdraw that waits for the pause of an operator does not take it for its own',
      },
    },
    'test/integration/operations/withdraw-pauses.test.ts': {
      'unanswered-pause-forgotten': {
        file: 'src/operations/messages/withdraw.ts',
        find: 'this.#pauses.set(topic, undefined);',
      },
      'any-pause-taken-for-an-own-one': {
        file: 'src/store/lane/pause.ts',
        find: 'and details @> $2::text::jsonb',
        replace: 'and $2::text is not null',
      },
      'one-failed-resume-ends-all': {
        file: 'src/store/lane/pause.ts',
        find: '.catch((error: unknown) => failures.push(error))',
      },
    },
  },
};
