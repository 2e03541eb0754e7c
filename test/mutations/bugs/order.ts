import type { Bugs } from '../mutation.ts';

/** What is sent, and in which order. */
export const orderBugs: Bugs = {
  'no-ghost': {
    'test/integration/database/log.test.ts': {
      'id-stored-twice-holds-its-lane': {
        file: 'outbox.take_out()',
        find: 'on conflict (id) do nothing',
      },
      'id-of-the-log-stored-again': {
        file: 'outbox.store()',
        find: 'where not (p.given and (',
        replace: 'where not (false and (',
      },
      'id-of-an-archived-leaf-sent-again': {
        file: 'outbox.take_back_archived()',
        find: 'select from outbox.log_history a where a.id = g.id limit 1',
        replace: 'select from outbox.log_history a where a.id = g.id and false limit 1',
      },
    },
    'test/integration/sending/refusals.test.ts': {
      'duplicate-ignores-key': {
        file: 'outbox.resolve_conflicts()',
        find: `and e.key is not distinct from x.m ->> 'key'`,
      },
      'ref-not-unique': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: 'create unique index message_waiting_ref',
        replace: 'create index message_waiting_ref',
      },
    },
    'test/integration/sending/root-client.test.ts': {
      'root-client-taken': {
        file: 'src/store/database/transaction.ts',
        find: '|| candidate.$connect !== undefined',
      },
    },
    'test/integration/database/archive-lookup.test.ts': {
      'archived-id-accepted': {
        file: 'outbox.take_back_archived()',
        find: 'if cardinality(archived) = 0 then',
        replace: 'if true then',
      },
      'archived-id-accepted-under-repeatable-read': {
        file: 'outbox.take_back_archived()',
        find: `<> 'read committed'`,
        replace: `= 'none'`,
      },
    },
    'test/integration/sending/diverted-client.test.ts': {
      'extension-may-divert-statements': {
        file: 'src/store/database/one-transaction.ts',
        find: 'first !== undefined && first === second',
        replace: 'first !== undefined && second !== undefined',
      },
    },
    'test/integration/operations/verify-log.test.ts': {
      'records-of-late-messages-are-ghosts': {
        file: 'src/store/verify/ghosts.ts',
        find: '(select max(f.dropped_to) from outbox.leaf f)',
        replace: '(select min(f.opened_at) from outbox.leaf f having min(f.n) > 1)',
        title: 'I2: records of dropped leaves are not judged, late ones included',
      },
      'dropped-leaf-forgets-those-before': {
        file: 'src/store/retention/leaf.ts',
        find: 'greatest(f.dropped_to, gone.dropped_to, gone.archived_at)',
        replace: 'gone.archived_at',
        title: 'I2: records of dropped leaves are not judged, late ones included',
      },
    },
  },
  'order-per-key': {
    'test/integration/relay/waiting.test.ts': {
      'release-places-by-position': {
        file: 'outbox.release_locked()',
        find: 'order by d.due_at, d.position) d',
        replace: 'order by d.position) d',
      },
    },
    'test/integration/relay/release-order.test.ts': {
      'release-overtakes-one-in-hand-elsewhere': {
        file: 'outbox.release_locked()',
        find: `where not (d.state = 'waiting' and`,
        replace: `where not (false and d.state = 'waiting' and`,
      },
    },
    'test/integration/relay/blocked-keys.test.ts': {
      'claim-passes-blocked': {
        file: 'outbox.blocked()',
        find: `o.state in ('retrying', 'blocked') order by`,
        replace: `o.state in ('retrying', 'blocked') and o.state = 'retrying' order by`,
      },
      'blocked-released-past-a-locked-one': {
        file: 'outbox.release_blocked()',
        find: 'where o.key = f.key and o.position < f.position',
        replace: 'where o.key = f.key and o.position < 0',
      },
    },
    'test/integration/relay/claim-ahead.test.ts': {
      'claim-ahead-behind-exceptions': {
        file: 'src/relay/claim-ahead.ts',
        find: `settled?.changes.every(({ to }) => to === 'published') === true`,
        replace: 'settled !== undefined',
        title: 'a claim behind a batch with a refused message is repeated: the key of that message waits',
      },
    },
    'test/integration/relay/unblocked-lanes.test.ts': {
      'retry-unnamed-in-its-lane': {
        file: 'src/store/lane/settle.ts',
        find: `retrying' || to === '`,
      },
      'look-before-a-retry-counts': {
        file: 'outbox.none_left()',
        find: 'pg_visible_in_snapshot(p_last, p_snapshot) is true',
        replace: 'p_snapshot is not null',
      },
      'lane-change-brings-retries-unnamed': {
        file: 'src/store/lane/lanes-switch.ts',
        find: 'on conflict (topic, n) do update set blocking_xid = pg_current_xact_id(), failed_xid = pg_current_xact_id()',
        replace: 'on conflict do nothing',
      },
    },
    'test/integration/relay/unfailed-lanes.test.ts': {
      'failure-unnamed-in-its-lane': {
        file: 'src/store/lane/settle.ts',
        find: `changes.some(({ to }) => to === 'failed')`,
        replace: 'false',
      },
      'given-up-unnamed-in-its-lane': {
        file: 'src/store/message/confirm-overdue.ts',
        find: 'update outbox.lane l set failed_xid = pg_current_xact_id() from lanes where',
        replace: 'update outbox.lane l set failed_xid = l.failed_xid from lanes where',
      },
    },
    'test/integration/lanes/change.test.ts': {
      'lane-change-waits-for-writers-only': {
        file: 'src/store/lane/lanes-switch.ts',
        find: 'and a.usesysid is not null',
        replace: 'and a.usesysid is not null and a.backend_xid is not null',
      },
    },
    'test/integration/lanes/prepared.test.ts': {
      'prepared-transactions-not-waited-for': {
        file: 'src/operations/delivery/lanes.ts',
        find: 'of [stillRunning, stillPrepared])',
        replace: 'of [stillRunning])',
      },
    },
    'test/integration/lanes/change-waits.test.ts': {
      'another-change-waits-for-the-old-ones': {
        file: 'src/store/lane/lanes-change.ts',
        find: 'running = case when c.wanted = excluded.wanted then c.running end',
        replace: 'running = c.running',
      },
    },
    'test/integration/lanes/announced.test.ts': {
      'announcement-leaves-what-was-stored-before': {
        file: 'src/store/lane/topics.ts',
        find: 'from stored where fresh and lanes > 1',
        replace: 'from stored where false',
      },
    },
    'test/integration/database/adopt.test.ts': {
      'sequences-stay-as-they-were-copied': {
        file: 'src/store/installation/adopt.ts',
        find: 'await raiseSequences(sql);',
      },
    },
    'test/unit/brokers/kafka/partition-send.test.ts': {
      'sends-after-a-hold': {
        file: 'src/brokers/kafka/transport/partition-send.ts',
        find: 'if (hold !== undefined) {',
        replace: 'if (hold === stopped) {',
      },
    },
    'test/integration/receipts/overdue.test.ts': {
      'resend-overtakes': {
        file: 'src/store/message/confirm-overdue.ts',
        find: 'and d.confirm_by is null',
        title: 'a message does not overtake an earlier locked one of its key',
      },
    },
    'test/integration/relay/late-hazards.test.ts': {
      'amid-late-a-cleared-leaf-gives-new-positions': {
        file: 'outbox.take_out()',
        find: 't.lane, t.position, t.xid',
        replace: `t.lane, nextval('outbox.message_position'), t.xid`,
      },
    },
  },
  'unblocked-key-continues': {
    'test/integration/relay/freed-keys.test.ts': {
      'failed-message-frees-no-key': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: `when (old.state in ('retrying', 'failed') and new.state`,
        replace: `when (old.state in ('retrying') and new.state`,
      },
      'cancel-behind-its-follower-unnoted': {
        file: 'outbox.note_freed()',
        find: `new.state = 'canceled' or`,
      },
      'freed-key-is-no-work': {
        file: 'outbox.has_work()',
        find: 'outbox.freed_since(p_lane.topic, p_lane.n,',
        replace: 'outbox.freed_since(p_lane.topic, -1,',
      },
      'walk-ends-with-its-first-turn': {
        file: 'src/relay/starter.ts',
        find: ', this.#walkedTo',
      },
    },
    'test/integration/relay/blocked-keys.test.ts': {
      'blocked-behind-nothing-unnoted': {
        file: 'src/store/lane/settle.ts',
        find: `filter(({ to }) => to === 'blocked')`,
        replace: `filter(({ to, attempt }) => to === 'blocked' && attempt !== undefined)`,
      },
      'freed-key-forgotten-while-locked': {
        file: 'outbox.release_blocked()',
        find: 'where not exists (select from outbox.free_blocked(p_topic, p_lane, s.key',
        replace: 'where true or not exists (select from outbox.free_blocked(p_topic, p_lane, s.key',
      },
      'freed-key-forgotten-during-a-change-of-lanes': {
        file: 'outbox.release_blocked()',
        find: 'and not exists (select from outbox.topic_change c where c.topic = p_topic)',
      },
      'key-freed-by-a-running-transaction-forgotten': {
        file: 'outbox.freed_since()',
        find: 'pg_snapshot_xip(p_snapshot)',
        replace: 'pg_snapshot_xip(null::pg_snapshot)',
      },
    },
    'test/integration/lanes/freed-key.test.ts': {
      'freed-key-of-another-lane': {
        file: 'src/store/lane/lanes-switch.ts',
        find: 'where topic = $1 and lane <> outbox.lane_of(key, null, $2)`,',
        replace: 'where topic = $1 and lane < 0 and lane <> outbox.lane_of(key, null, $2)`,',
      },
    },
  },
  'edit-happens-once': {
    'test/integration/operations/edit.test.ts': {
      'edit-of-an-old-version': {
        file: 'src/store/message/edit.ts',
        find: 'm.updated_at = $2::text::timestamptz',
        replace: 'm.updated_at >= $2::text::timestamptz',
        title: 'an edit of a version other than the one read is a conflict',
      },
      'copy-takes-the-ref-of-a-later-message': {
        file: 'src/store/message/edit.ts',
        find: 'case when not exists (select',
        replace: 'case when true or not exists (select',
        title: 'a ref means the later message that has it',
      },
    },
  },
};
