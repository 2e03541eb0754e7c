import type { Bugs } from '../mutation.ts';

/** What is canceled, and what waits for its broker. */
export const holdBugs: Bugs = {
  'cancel-holds': {
    'test/integration/sending/change.test.ts': {
      'cancel-of-maybe-published': {
        file: 'outbox.is_open()',
        find: 'and not m.maybe_published',
      },
    },
    'test/integration/sending/locks.test.ts': {
      'late-cancel-keeps-its-lock': {
        file: 'outbox.lock_open()',
        find: `raise exception 'outbox: the message is no longer open' using errcode = 'OB003'`,
        replace: 'return false',
        title: 'a change that comes too late because it waited for a release keeps no lock of the message:',
      },
      'late-cancel-of-a-key-keeps-its-locks': {
        file: 'outbox.cancel_key()',
        find: 'if cardinality(locked) = cardinality(open) then',
        replace: 'if true then',
        title: 'a change that comes too late because it waited for a release keeps no lock of the message:',
      },
      'cancel-by-ref-of-the-previous-message': {
        file: 'outbox.cancel()',
        find: 'exit when cancel.id is not null or',
        replace: 'exit when true or',
        title: 'a change by ref reaches the message that got the ref in the transaction that it waited',
      },
    },
    'test/integration/operations/withdraw.test.ts': {
      'withdraw-without-suspicion': {
        file: 'src/store/message/withdraw.ts',
        find: 'and not coalesce(pg_visible_in_snapshot(m.xid, l.suspect), false)',
        title: 'messages that a dead owner may have published are too late, those sent after the takeover',
      },
      'dry-run-trusts-a-dead-owner': {
        file: 'src/store/message/withdraw.ts',
        find: 'then pg_current_snapshot() else l.suspect end',
        replace: 'then l.suspect else l.suspect end',
        title: 'a dry run answers for the lane ',
      },
    },
    'test/integration/sending/cancel-key.test.ts': {
      'cancel-by-key-takes-all-topics': {
        file: 'outbox.cancel_key()',
        find: 'm.topic = cancel_key.topic and',
      },
    },
    'test/unit/relay/drain.test.ts': {
      'suspect-mark-unknown-to-claims': {
        file: 'src/relay/lane-suspect.ts',
        find: 'this.#snapshot = snapshot;',
      },
    },
    'test/integration/relay/dead-owner.test.ts': {
      'lapse-ignored': {
        file: 'src/store/lane/lease.ts',
        find: '(b.owner <> $3 or b.incarnation <> outbox.incarnation()) is true as lapsed',
        replace: 'false as lapsed',
        title: 'nothing that a dead owner may have published can be canceled, even if the broker refuses',
      },
      'lane-freed-after-an-error': {
        file: 'src/relay/drain.ts',
        find: '(clean ? lease.free(quiet, held) : lease.abandon())',
        replace: 'lease.free(quiet, held)',
        title: 'a settle that the database refuses until the run ends leaves its batch suspect',
      },
    },
    'test/integration/relay/late-hazards.test.ts': {
      'amid-late-what-is-sent-is-withdrawn': {
        file: 'outbox.is_passed()',
        find: 'or coalesce(p_position <= p_late_cursor',
        replace: 'or coalesce(p_late_cursor < 0',
      },
      'amid-late-a-cancel-of-a-key-spares-blocked': {
        file: 'outbox.cancel_key()',
        find: `m.state in ('waiting', 'retrying', 'blocked')`,
        replace: `m.state in ('waiting', 'retrying')`,
      },
    },
    'test/integration/relay/settle.test.ts': {
      'settle-locks-in-no-order': {
        file: 'src/store/lane/settle.ts',
        find: 'order by m.id for update',
        replace: 'order by m.position for update',
      },
      'a-late-copy-of-a-settle-moves-back': {
        file: 'outbox.lane_may_pass()',
        find: 'l.cursor < p_cursor or',
        replace: 'true or',
      },
      'a-late-copy-of-a-settle-forgets-late-ones': {
        file: 'outbox.lane_may_pass()',
        find: 'l.cursor = p_cursor and (l.snapshot is null',
        replace: 'l.cursor = p_cursor and (true',
      },
    },
  },
  'hold-end-reported': {
    'test/integration/relay/partial-batch.test.ts': {
      'holds-of-lanes-that-are-given-up-never-end': {
        file: 'src/relay/own-hold.ts',
        find: `if (this.#reported) report({ type: 'hold-ended',`,
        replace: `if (this.#reported && over) report({ type: 'hold-ended',`,
      },
    },
    'test/unit/app/relay-metrics.test.ts': {
      'each-owner-records-a-duration-of-a-hold': {
        file: 'src/app/relay/relay-metrics.ts',
        find: 'if (!event.over) return undefined;',
      },
    },
  },
  'hold-as-old-as-its-cause': {
    'test/integration/relay/hold-owners.test.ts': {
      'next-owner-begins-the-hold-anew': {
        file: 'src/store/lane/lease.ts',
        find: `coalesce(l.hold -> 'since', to_jsonb(clock_timestamp()))`,
        replace: 'to_jsonb(clock_timestamp())',
      },
      'withdrawal-ends-the-hold': {
        file: 'src/operations/messages/withdraw.ts',
        find: 'this.#owner, false, true);',
        replace: 'this.#owner, false, false);',
      },
      'hold-outlasts-a-successful-publish': {
        file: 'src/relay/lane-delivery.ts',
        find: 'await this.#ownHold.end();',
        replace: 'void this.#ownHold;',
      },
      'hold-without-messages-stays-for-good': {
        file: 'outbox.want_lanes()',
        find: 'or l.hold is not null or outbox.has_work(l)',
        replace: 'or outbox.has_work(l)',
      },
      'batch-given-up-to-stop-is-a-hold': {
        file: 'src/relay/hold.ts',
        find: 'if (stop.aborted) return;',
      },
      'hold-without-messages-is-shown': {
        file: 'src/store/lane/status.ts',
        find: 'row.hasWork && !row.paused',
        replace: '!row.paused',
      },
      'hold-without-messages-fails-doctor': {
        file: 'src/store/doctor/lanes.ts',
        find: '(outbox.has_work(l) or exists (',
        replace: '(true or exists (',
      },
    },
    'test/integration/alerts/told.test.ts': {
      'lane-is-freed-without-its-hold': {
        file: 'src/store/lane/lease.ts',
        find: 'hold = case when $5 then hold end',
        replace: 'hold = case when $5 and false then hold end',
      },
    },
    'test/unit/relay/drain-batches.test.ts': {
      'expired-message-ends-a-hold': {
        file: 'src/relay/publish-batch.ts',
        find: `&& outcome.kind !== 'expired'`,
      },
    },
    'test/unit/operations/why.test.ts': {
      'why-blames-the-broker-without-a-relay': {
        file: 'src/operations/messages/why.ts',
        find: 'unattended(facts) ?? held(facts)',
        replace: 'held(facts) ?? unattended(facts)',
      },
    },
    'test/integration/operations/status-lane-states.test.ts': {
      'status-blames-the-broker-without-a-relay': {
        file: 'src/cli/status-command.ts',
        find: 'if (unattended) return noRelay;',
        replace: 'if (unattended && lane.hold === null) return noRelay;',
      },
    },
  },
  'rate-kept': {
    'test/integration/relay/rate.test.ts': {
      'rate-not-asked': {
        file: 'src/relay/rate-gate.ts',
        find: 'if (claimed.share === null) return claimed;',
        replace: 'if (claimed.share !== undefined) return claimed;',
      },
      'rate-loses-what-it-cuts-off': {
        file: 'src/relay/rate-gate.ts',
        find: 'messages: claimed.messages.slice(0, end), truncated: true }',
        replace: 'messages: claimed.messages.slice(0, end), truncated: false }',
      },
      'rate-asked-for-what-is-blocked': {
        file: 'src/relay/rate-gate.ts',
        find: 'message.blocked && !',
      },
      'rate-asked-again-only-at-its-end': {
        file: 'src/relay/rate-gate.ts',
        find: 'Math.min(waitMs + 1 + Math.random() * 4, this.#input.timings.checkIntervalMs)',
        replace: 'waitMs + 1 + Math.random() * 4',
      },
    },
    'test/integration/relay/rate-row.test.ts': {
      'rate-of-a-shorter-time': {
        file: 'outbox.rate_left()',
        find: 'x.sent_at > p_at - per',
        replace: 'x.sent_at > p_at - per / 2',
      },
      'rate-row-not-locked': {
        file: 'outbox.take_rate()',
        find: 'for update skip locked',
      },
      'rate-waits-for-a-lock': {
        file: 'outbox.take_rate()',
        find: 'for update skip locked',
        replace: 'for update',
      },
      'rate-taken-by-one-lane': {
        file: 'outbox.take_rate()',
        find: '(policy.rate_messages + policy.lanes - 1) / policy.lanes',
        replace: 'policy.rate_messages',
      },
      'rate-of-the-address-by-topic': {
        file: 'outbox.rate_scope()',
        find: `when policy.rate_of = 'address' then`,
        replace: `when policy.rate_of = 'none' then`,
      },
      'rate-clock-set-back': {
        file: 'outbox.take_rate()',
        find: 'array_agg(least(x.at, counted_at) order by x.n)',
        replace: 'array_agg(x.at order by x.n)',
      },
    },
    'test/integration/database/retention.test.ts': {
      'idle-rates-stay': {
        file: 'src/store/retention/retention.ts',
        find: 'await dropIdleRates(database);',
        title: 'a row of a rate stays while it counts',
      },
      'counting-rate-is-dropped': {
        file: 'src/store/lane/rate.ts',
        find: 'and outbox.rate_scope(t) = r.scope',
        replace: 'and t.name = r.scope',
        title: 'a row of a rate stays while it counts',
      },
    },
    'test/unit/relay/drain-rate.test.ts': {
      'rate-asked-without-one': {
        file: 'src/relay/rate-gate.ts',
        find: 'if (claimed.share === null) return claimed;',
      },
    },
  },
};
