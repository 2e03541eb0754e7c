import type { Bugs } from '../mutation.ts';

/** When messages go, and when they end. */
export const timeBugs: Bugs = {
  'expired-not-sent': {
    'test/integration/relay/expiry.test.ts': {
      'expiry-is-forgotten-at-the-send': {
        file: 'src/relay/publish-batch.ts',
        find: 'hasExpired(message, now)) return { outcome',
        replace: 'hasExpired(message, now - 60_000)) return { outcome',
        title: 'a message that expires while its batch is claimed ahead is not sent',
      },
      'retry-is-due-after-the-expiry': {
        file: 'outbox.due_by_expiry()',
        find: 'new.due_at := new.expires_at;',
        title: 'a retrying message is due at its expiry at the latest',
      },
      'lane-timer-sleeps-past-the-expiry': {
        file: 'outbox.due_by_expiry()',
        find: 'if new.workflow_due_at = new.due_at then',
        replace: 'if false then',
        title: 'a message of a lane with a timer is released at its expiry without a workflow',
      },
      'blocked-message-never-expires': {
        file: 'src/relay/watcher.ts',
        find: 'void expiry.check();',
        title: 'a blocked message ends at its expiry while what it is behind still blocks the key',
      },
      'expiry-of-blocked-messages-ignores-the-time': {
        file: 'src/store/message/expire.ts',
        find: 'and x.expires_at <= outbox.clock()',
        title: 'a blocked message ends at its expiry while what it is behind still blocks the key',
      },
      'expired-message-is-retried': {
        file: 'src/store/message/change.ts',
        find: 'and m.expires_at <= outbox.clock() and m.published_at is null',
        replace: 'and false',
        title: 'a retry of an expired message is too late, and one of a failed message past its expiry is',
      },
      'resend-expires': {
        file: 'outbox.write_claim()',
        find: 'case when not b.sent then',
        replace: 'case when true then',
        title: 'a message that was published, and is sent again for its receipt, does not expire',
      },
      'claim-ends-what-was-published-before': {
        file: 'outbox.claimable()',
        find: `m.published_at is not null, m.due_at
   from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
     and m.position + 0`,
        replace: `m.sends > 0, m.due_at
   from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
     and m.position + 0`,
        title: 'a message that its consumer has parked does not expire',
      },
      'retry-forgets-it-was-published-before': {
        file: 'src/store/message/change.ts',
        find: 'due_at = least(m.due_at, outbox.clock())',
        replace: 'due_at = least(m.due_at, outbox.clock()), published_at = null',
        title: 'an operator may retry what was published and given up',
      },
      'retry-refuses-what-was-published-before': {
        file: 'src/store/message/change.ts',
        find: 'and m.published_at is null',
        title: 'an operator may retry what was published and given up',
      },
    },
    'test/unit/relay/plan-settlement.property.test.ts': {
      'expired-blocked-message-stays-blocked': {
        file: 'src/relay/plan-settlement.ts',
        find: `if (outcome?.kind === 'expired') return`,
        replace: `if (outcome?.kind === 'expired' && !message.blocked) return`,
      },
      'expired-behind-a-hold-is-left-ready': {
        file: 'src/relay/plan-settlement.ts',
        find: `change.to === 'expired' ||`,
      },
    },
    'test/integration/relay/expiry-pages.test.ts': {
      'one-check-expires-one-page': {
        file: 'src/relay/expiry.ts',
        find: 'full = expired.length === messagesAtOnce',
        replace: 'full = expired.length > messagesAtOnce',
      },
    },
    'test/integration/sending/expires.test.ts': {
      'expiry-of-a-replaced-message-stays': {
        file: 'outbox.replace_waiting()',
        find: 'expires_at = expires,',
      },
      'kept-due-time-is-past-the-expiry': {
        file: 'outbox.replace_waiting()',
        find: 'if due > p_now and expires <= due then',
        replace: 'if false then',
      },
      'due-time-moves-past-the-expiry': {
        file: 'outbox.move_due()',
        find: 'and (due <= now_at or m.expires_at > due) is not false',
      },
    },
    'test/integration/database/archive.test.ts': {
      'archived-message-forgets-its-expiry': {
        file: 'src/store/retention/archive.ts',
        find: 'outbox.clock(), g.expires_at',
        replace: 'outbox.clock(), null::timestamptz',
        title: 'messages published, canceled, confirmed, superseded, discarded or expired a day ago',
      },
    },
    'test/integration/inbox/expired.test.ts': {
      'expired-message-is-handled': {
        file: 'src/inbox/intake/applier.ts',
        find: 'if (isExpired(incoming)) return expired;',
      },
      'expired-id-is-not-noted-on-arrival': {
        file: 'src/inbox/intake/applier.ts',
        find: `prepared[n]?.kind === 'expired' && arrivals[n] === 'new'`,
        replace: 'false',
      },
      'expired-id-is-not-noted-by-the-drain': {
        file: 'src/inbox/parked/key-drain.ts',
        find: 'ids.filter((_, n) => found[n]?.expired === true)',
        replace: '[]',
      },
      'retry-drops-an-expired-kept-message': {
        file: 'outbox.retry_kept()',
        find: `when outbox.wire_expired((l.message).wire) then 'expired'`,
      },
      'edit-keeps-the-expiry-of-a-kept-message': {
        file: 'src/store/inbox/edit.ts',
        find: `name !== 'ce_expirytime'`,
        replace: 'true || name',
      },
      'any-text-is-an-expiry': {
        file: 'src/core/expiry-time.ts',
        find: 'statedTime(expirytime)',
        replace: `new Date(expirytime ?? '')`,
      },
      'expired-parked-message-is-tried': {
        file: 'src/inbox/parked/parked-message.ts',
        find: 'expired: isExpired(incoming),',
        replace: 'expired: false,',
      },
    },
    'test/integration/relay/rate.test.ts': {
      'expired-waits-for-the-rate': {
        file: 'src/relay/drain.ts',
        find: 'if (allowed === undefined) await this.#settling.endExpired(claimed);',
      },
    },
  },
  'never-early': {
    'test/integration/relay/waiting.test.ts': {
      'release-early': {
        file: 'outbox.release_due()',
        find: 'and m.due_at <= outbox.clock()',
        replace: `and m.due_at <= outbox.clock() + interval '50 ms'`,
      },
      'sweep-early': {
        file: 'outbox.sweep_part()',
        find: 'and m.due_at <= outbox.clock() and m.due_at >=',
        replace: `and m.due_at <= outbox.clock() + interval '50 ms' and m.due_at >=`,
      },
    },
  },
  'on-time': {
    'test/integration/relay/release-order.test.ts': {
      'release-leaves-earlier-ones-behind': {
        file: 'outbox.release_due()',
        find: 'order by w.due_at, w.position limit k.asked_for + 100',
        replace: 'where w.id = any(p_ids) order by w.due_at, w.position limit k.asked_for + 100',
      },
    },
    'test/integration/relay/waiting.test.ts': {
      'sweep-waits-for-locks': {
        file: 'outbox.sweep_part()',
        find: 'limit p_limit for update skip locked',
        replace: 'limit p_limit for update',
      },
      'sweep-after-two-seconds': {
        file: 'src/store/message/release.ts',
        find: 'const graceMs = 200;',
        replace: 'const graceMs = 2_000;',
      },
    },
    'test/integration/relay/due-edge.test.ts': {
      'look-begins-behind-what-was-committed-late': {
        file: 'outbox.look()',
        find: 'ceil(extract(epoch from least(one.due, min(x.due) over ())',
        replace: 'ceil(extract(epoch from least(one.due, null)',
      },
      'sweep-never-releases-the-locked': {
        file: 'src/store/lane/due-edge.ts',
        find: 'now >= this.#restsUntil ? null :',
      },
    },
    'test/integration/sending/replace.test.ts': {
      'debounce-counts-from-the-last-time': {
        file: 'outbox.replace_waiting()',
        find: 'x.first_due_at + (m',
        replace: 'x.due_at + (m',
        title: 'however often a message is replaced',
      },
      'due-message-is-put-off-by-its-replacement': {
        file: 'outbox.replaced_due()',
        find: 'greatest(p_limit, case when p_limit is not null then least(p_before, p_now) end)',
        replace: 'greatest(p_limit, p_now)',
        title: 'a message that is due by its longest wait stays due',
      },
      'reschedule-keeps-the-first-due-time': {
        file: 'outbox.move_due()',
        find: 'first_due_at = case when m.first_due_at is not null then greatest(due, now_at) end,',
        title: 'however often a message is replaced',
      },
    },
    'test/integration/relay/caught-up.test.ts': {
      'late-commit-counts-as-sent': {
        file: 'src/store/database/snapshot.ts',
        find: 'BigInt(xid) < BigInt(xmax) && !inProgress.has(xid)',
        replace: `BigInt(xid) < BigInt(xmax) && !inProgress.has('')`,
      },
    },
    'test/integration/relay/news-of-lanes.test.ts': {
      'late-work-in-the-log-unseen': {
        file: 'outbox.has_work()',
        find: `and m.lane = p_lane.n and m.state = 'ready'
      and m.position + 0`,
        replace: `and m.lane = p_lane.n and m.state = 'ready' and false
      and m.position + 0`,
      },
      'look-overlooks-late-messages-of-the-log': {
        file: 'outbox.look()',
        find: 'select * from outbox.log r where r.position > 0 and r.xid = running.xid',
        replace: 'select * from outbox.log r where r.position > 0 and false',
      },
    },
    'test/integration/relay/claim-ahead.test.ts': {
      'claim-ahead-waits-for-a-ring': {
        file: 'src/relay/lane-delivery.ts',
        find: 'ahead === undefined &&',
        title: 'a message rung for and claimed behind a partial batch is sent at once, not at the next',
      },
    },
  },
  'last-due-time-wins': {
    'test/integration/sending/change.test.ts': {
      'reschedule-only-to-later': {
        file: 'outbox.move_due()',
        find: 'set due_at = greatest(due, now_at)',
        replace: 'set due_at = greatest(due, m.due_at)',
        title: 'a waiting message is moved later and earlier',
      },
    },
  },
  'only-legal-states': {
    'test/integration/sending/sql.test.ts': {
      'blocked-may-be-published': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: `old.state = 'blocked'   and new.state in ('ready', 'canceled', 'expired')`,
        replace: `old.state = 'blocked'   and new.state in ('ready', 'canceled', 'expired', 'published')`,
        title: 'of all pairs of states the database accepts exactly the transitions of the table',
      },
    },
    'test/integration/relay/expiry.test.ts': {
      'verification-names-what-was-published-before': {
        file: 'src/store/verify/states.ts',
        find: 'm.due_at > m.expires_at and m.published_at is null',
        replace: 'm.due_at > m.expires_at and m.sends = 0',
        title: 'a message that its consumer has parked does not expire',
      },
    },
  },
};
