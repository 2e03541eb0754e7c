import type { Bugs } from '../mutation.ts';

/** What has been is archived, and slows nothing. */
export const historyBugs: Bugs = {
  'history-slows-nothing': {
    'test/integration/database/leaf-plans.test.ts': {
      'status-scans-messages-beside-the-log': {
        file: 'src/store/lane/status.ts',
        find: 'order by m.position',
      },
      'status-reads-a-backlog-by-bitmap': {
        file: 'src/store/lane/status.ts',
        find: 'order by r.position',
      },
      'status-looks-for-late-ones-in-a-backlog': {
        file: 'src/store/lane/status.ts',
        find: `order by r.xid limit $1) r
   where r.position + 0 <= l.cursor)`,
        replace: 'and r.position + 0 <= l.cursor limit $1) r)',
      },
    },
    'test/integration/receipts/plans.test.ts': {
      'index-lacks-the-not-published-before': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: 'expires_at is not null and published_at is null;',
        replace: 'expires_at is not null and sends = 0;',
      },
    },
    'test/integration/relay/old-snapshots.test.ts': {
      'claims-ask-for-failed-ones-for-ever': {
        file: 'outbox.write_claim()',
        find: 'or p_failed_blocks and failed_xid is not null and not',
        replace: 'or p_failed_blocks and not',
      },
      'claims-always-look-for-retries': {
        file: 'src/store/lane/blocking-looks.ts',
        find: 'return now >=',
        replace: 'return true || now >=',
      },
      'claim-reads-all-freed-keys': {
        file: 'outbox.write_claim()',
        find: 'outbox.freed_since(p_topic, p_lane, freed_snapshot)',
        replace: 'outbox.freed_since(p_topic, p_lane, null)',
      },
      'claim-reads-what-was-special': {
        file: 'outbox.claim()',
        find: 'outbox.has_exceptions(p_topic, p_lane, p_cursor, p_snapshot)',
        replace: `exists (select from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready')`,
      },
    },
    'test/unit/relay/starter.test.ts': {
      'pages-of-starts-from-the-start': {
        file: 'src/relay/starter.ts',
        find: 'from = messages.at(-1)?.dueAt ?? from;',
      },
    },
    'test/integration/database/adopt-replicated.test.ts': {
      'lane-never-found-unblocked': {
        file: 'src/relay/plan-settlement.ts',
        find: '...(claim.unblocked && { unblocked: true }),',
      },
    },
    'test/integration/database/leaves.test.ts': {
      'leaf-held-by-a-paused-lane': {
        file: 'src/store/retention/leaves.ts',
        find: 'if (index < closed.length - mostClosed) await clearLeaf(database, n, pace);',
        title: 'a lane that stays behind for nine leaves does not keep the first one: its messages move',
      },
      'leaf-cleared-without-late-messages': {
        file: 'src/store/retention/leaf.ts',
        find: 'and m.xid = running.xid and m.position + 0 <= l.cursor offset 0',
        replace: 'and m.xid = running.xid and false offset 0',
        title: 'a lane that stays behind for nine leaves does not keep the first one: its messages move',
      },
    },
    'test/integration/relay/freed-keys.test.ts': {
      'release-before-every-claim': {
        file: 'src/relay/lane-claims.ts',
        find: 'this.#turn.freed = freed;',
        replace: 'this.#turn.freed = true;',
      },
    },
    'test/integration/relay/rate-row.test.ts': {
      'rate-reads-its-versions': {
        file: 'outbox.take_rate()',
        find: 'order by r.n desc limit 1 for update skip locked',
        replace: 'order by r.n limit 1 for update skip locked',
      },
    },
    'test/unit/relay/drain-rate.test.ts': {
      'each-lane-asks-the-rate': {
        file: 'src/relay/rate-gate.ts',
        find: 'if (leftMs > 0) return { granted: 0, waitMs: leftMs };',
      },
    },
    'test/integration/relay/lane-versions.test.ts': {
      'lane-row-by-its-key': {
        file: 'src/store/lane/lane-row.ts',
        find: 'return ctids.get(lane) ?? null;',
        replace: 'return ctids.has(lane) ? null : null;',
      },
    },
    'test/integration/relay/due-edge.test.ts': {
      'walk-from-the-start': {
        file: 'src/store/lane/due-edge.ts',
        find: 'return now >= this.#restsUntil ? null : this.#from;',
        replace: 'return now >= this.#restsUntil ? this.#from : null;',
      },
    },
    'test/integration/receipts/old-snapshot.test.ts': {
      'overdue-walks-what-was-confirmed': {
        file: 'src/store/message/confirm-overdue.ts',
        find: `>= coalesce(t.begins, '-infinity') and m.confirm_by`,
      },
    },
    'test/integration/lanes/idle.test.ts': {
      'quiet-lanes-searched-each-time': {
        file: 'outbox.want_lanes()',
        find: 'and ((l.topic, l.n) not in (select k.topic, k.n from known k)',
        replace: 'and (true',
      },
    },
    'test/integration/relay/horizons.test.ts': {
      'horizon-of-another-topic': {
        file: 'outbox.untold_messages()',
        find: `coalesce(t.horizon, interval '24 hours') and u.id`,
        replace: '(select max(horizon) from outbox.topic) and u.id',
      },
    },
  },
  'archive-blocks-nothing': {
    'test/integration/database/adopt-log.test.ts': {
      'adopted-without-facts-of-batches': {
        file: 'src/store/installation/adopt.ts',
        find: 'coalesce(m.partition, b.partition)',
        replace: 'm.partition',
      },
    },
    'test/integration/database/leaf-plans.test.ts': {
      'leaf-asked-about-all-since-the-oldest': {
        file: 'outbox.lanes_of_leaf()',
        find: 'xid >= pg_snapshot_xmax(l.snapshot)',
        replace: 'xid >= pg_snapshot_xmin(l.snapshot) and not pg_visible_in_snapshot(m.xid, l.snapshot)',
      },
    },
    'test/integration/database/leaves.test.ts': {
      'leaf-that-fails-keeps-the-others': {
        file: 'src/store/retention/leaves.ts',
        find: '.catch((error: unknown) => failures.push(error))',
        title: 'a leaf whose step fails keeps no other one',
      },
    },
    'test/integration/database/current-leaf.test.ts': {
      'batches-expire-before-their-leaf': {
        file: 'src/store/retention/deletes.ts',
        find: '(p.last_position < least(',
        replace: '(0 < least(',
      },
      'used-leaf-renewed-as-if-empty': {
        file: 'src/store/retention/leaves.ts',
        find: 'and not exists (select from outbox.log_${old.n})',
      },
    },
    'test/integration/database/leaf-grants.test.ts': {
      'new-leaf-for-its-owner-alone': {
        file: 'outbox.next_leaf()',
        find: 'perform outbox.grant_log();',
      },
    },
    'test/integration/database/leaf-held.test.ts': {
      'step-of-a-leaf-queues-behind-a-dump': {
        file: 'src/store/retention/brief-lock.ts',
        find: 'if (await areHeldLong(database, tables)) return false;',
      },
    },
    'test/integration/database/archive-plans.test.ts': {
      'archive-reads-the-whole-log': {
        file: 'src/store/retention/archive.ts',
        find: 'm.position > 0 and m.position > $3',
        replace: 'm.position > 0 and m.position + 0 > $3',
      },
    },
    'test/integration/database/archive.test.ts': {
      'archive-of-what-is-not-passed': {
        file: 'src/store/retention/archive.ts',
        find: 'and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)',
        replace: 'and m.position <= l.cursor',
        title: 'messages that wait, retry, are blocked or not passed stay, whatever their age',
      },
      'archive-of-what-is-suspect': {
        file: 'src/store/retention/archive.ts',
        find: '(m.position <= $5 or l.suspect is null or not pg_visible_in_snapshot(m.xid, l.suspect))',
        replace: '$5::bigint is not null',
        title: 'messages visible to a dead owner stay for a day after they were passed, even where',
      },
    },
    'test/integration/database/leaf-age.test.ts': {
      'leaf-as-old-as-its-newest-creation': {
        file: 'src/store/retention/leaf.ts',
        find: 'max(greatest(created_at, updated_at))',
        replace: 'max(created_at)',
      },
    },
  },
  'batch-within-memory': {
    'test/integration/relay/claimed-rows.test.ts': {
      'claims-count-no-headers': {
        file: 'outbox.write_claim()',
        find: '+ coalesce(octet_length(c.headers::text), 0)',
      },
    },
  },
};
