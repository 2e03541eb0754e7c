import type { Bugs } from '../mutation.ts';

/** What commits is delivered, whatever dies, freezes or fails. */
export const noLossBugs: Bugs = {
  'no-loss': {
    'test/integration/sending/not-awaited.test.ts': {
      'forgotten-send-is-not-awaited': {
        file: 'src/outbox/transact.ts',
        find: 'await withItsWrites(tx, () => work(tx))',
        replace: 'await work(tx)',
      },
    },
    'test/unit/inbox/handler-transactions.test.ts': {
      'forgotten-send-of-a-handler-is-not-awaited': {
        file: 'src/inbox/handling/handler-transactions.ts',
        find: 'return withItsWrites(tx, () => work(tx, handling));',
        replace: 'return work(tx, handling);',
      },
    },
    'test/unit/store/pending-writes.test.ts': {
      'forgotten-failure-commits': {
        file: 'src/store/database/pending-writes.ts',
        find: '!failed || !seen',
        replace: '!failed',
      },
    },
    'test/integration/relay/late-commits.test.ts': {
      'claim-without-ids-in-progress': {
        file: 'outbox.claimable_in_log()',
        find: 'r.xid = running.xid',
        replace: 'false',
      },
      'claim-beside-the-log-without-the-first-late-id': {
        file: 'outbox.claimable()',
        find: 'm.xid >= pg_snapshot_xmax(p_snapshot)',
        replace: 'm.xid > pg_snapshot_xmax(p_snapshot)',
      },
      'claim-of-the-log-alone': {
        file: 'outbox.write_claim()',
        find: 'owned := found;',
        replace: 'owned := found; exceptions := false;',
      },
    },
    'test/unit/store/settle.test.ts': {
      'settle-changes-nothing-in-the-log': {
        file: 'src/store/lane/settle.ts',
        find: 'await applyChanges(sql, lane, others, claimSnapshot);',
      },
    },
    'test/integration/database/leaves.test.ts': {
      'leaf-sealed-beside-open-transactions': {
        file: 'src/store/retention/leaf.ts',
        find: 'return row?.left === 0;',
        replace: 'return row !== undefined;',
        title: 'a transaction that has read the functions and not sent yet holds the old leaf, too',
      },
      'leaf-passed-before-its-late-messages': {
        file: 'outbox.lanes_of_leaf()',
        find: 'm.xid = running.xid offset 0',
        replace: 'm.xid = running.xid and false offset 0',
        title: 'a leaf stays for a message that was committed behind the cursor of its lane (',
      },
      'leaf-passed-before-its-newest-messages': {
        file: 'outbox.lanes_of_leaf()',
        find: 'm.xid >= pg_snapshot_xmax(l.snapshot)',
        replace: 'false',
        title: 'a leaf stays for a message that was committed behind the cursor of its lane (',
      },
      'leaf-passed-before-its-end': {
        file: 'outbox.lanes_of_leaf()',
        find: 'last.position <= l.cursor',
        replace: 'true',
        title: 'a leaf stays while a lane has seen messages there that it has not sent yet',
      },
    },
    'test/integration/lanes/prepared.test.ts': {
      'leaf-passed-by-what-was-true-before-the-lock': {
        file: 'src/store/retention/leaf.ts',
        find: 'if (!(await isLeafPassed(sql, n))) return;',
      },
    },
    'test/integration/database/leaf-rows.test.ts': {
      'leaf-dropped-by-its-row-alone': {
        file: 'src/store/retention/leaf.ts',
        find: 'behind = parents.some((name) => !from.includes(name));',
        replace: 'behind = false;',
      },
    },
    'test/integration/database/adopt-replicated.test.ts': {
      'adopted-leaf-as-its-original-said': {
        file: 'src/store/installation/adopt.ts',
        find: 'await followTables(sql);',
      },
      'lanes-of-another-cluster-are-served': {
        file: 'src/store/installation/installation.ts',
        find: '(exists (select from outbox.lane l where ${laneOfAnotherCluster})',
        replace: '(exists (select from outbox.lane l where false and ${laneOfAnotherCluster})',
      },
      'messages-of-another-cluster-are-served': {
        file: 'src/store/installation/installation.ts',
        find: 'order by m.xid desc limit 1)',
        replace: 'order by m.xid limit 0)',
      },
      'a-copy-kept-in-step-has-not-moved': {
        file: 'src/store/installation/adopt.ts',
        find: 'or ${rowsOfAnotherCluster}',
      },
    },
    'test/integration/lanes/change.test.ts': {
      'lane-change-leaves-late-rows': {
        file: 'src/store/lane/lanes-walk.ts',
        find: `lives: \`m.position + 0 <= \${ofLane('l.cursor')} and \${notPassed}\`,`,
        replace: `lives: 'false',`,
      },
    },
    'test/integration/lanes/change-pages.test.ts': {
      'lane-change-forgets-skipped-messages': {
        file: 'src/store/lane/lanes-replace.ts',
        find: '&& skipped.length === 0',
      },
    },
    'test/integration/operations/split-reads.test.ts': {
      'transaction-with-the-default-level': {
        file: 'src/store/database/pool.ts',
        find: 'isolation level read committed',
      },
    },
    'test/unit/relay/publish-batch.test.ts': {
      'no-answer-counts-as-unsent': {
        file: 'src/relay/publish-batch.ts',
        find: `kind: 'ambiguous',
  error: 'The transport returned no outcome for this message.',`,
        replace: `kind: 'rejected',
  error: 'The transport returned no outcome for this message.',`,
      },
    },
    'test/unit/relay/plan-settlement.test.ts': {
      'truncated-batch-moves-the-cursor': {
        file: 'src/relay/lane-progress.ts',
        find: '!truncated || BigInt(last) > BigInt(at.cursor)',
        replace: 'truncated || true',
      },
    },
    'test/integration/relay/late-many.test.ts': {
      'late-messages-count-as-passed-unsent': {
        file: 'outbox.is_passed()',
        find: 'p_position <= p_late_cursor and',
      },
    },
    'test/integration/relay/late-copies.test.ts': {
      'amid-late-a-verification-expects-too-little': {
        file: 'src/store/verify/loss.ts',
        find: 'l.late_cursor, l.late_snapshot, m.position, m.xid)',
        replace: 'null, null, m.position, m.xid)',
      },
    },
    'test/unit/brokers/kafka/produce-queue.test.ts': {
      'two-batches-of-a-partition-in-one-request': {
        file: 'src/brokers/kafka/transport/produce-queue.ts',
        find: 'together.has(name) ||',
      },
    },
    'test/integration/kafka/batches.test.ts': {
      'answer-found-by-partition-alone': {
        file: 'src/brokers/kafka/transport/broker-connection.ts',
        find: 'one.partition === partition && one.address === address',
        replace: `one.partition === partition && address !== ''`,
      },
    },
    'test/transports/kafka/compression.test.ts': {
      'batch-overwritten-while-compressed': {
        file: 'src/brokers/kafka/transport/produce.ts',
        find: 'const batch = Buffer.from(this.#encode(request));',
        replace: 'const batch = this.#encode(request);',
      },
    },
    'test/unit/brokers/kafka/take-batch.test.ts': {
      'end-of-answer-passed-before-its-messages': {
        file: 'src/brokers/kafka/source/take-batch.ts',
        find: 'pass(done.length === messages.length ? (end ?? last) : last);',
        replace: 'pass(end ?? last);',
      },
    },
    'test/integration/relay/reconcile-pages.test.ts': {
      'reconcile-restarts-nothing': {
        file: 'src/relay/reconcile.ts',
        find: 'if (!(await census.isRunning(id))) missing.push(id);',
        replace: 'await census.isRunning(id);',
      },
    },
    'test/integration/database/adopt-log.test.ts': {
      'adoption-fails-on-an-id-stored-twice': {
        file: 'src/store/installation/adopt.ts',
        find: 'on conflict (id) do nothing',
      },
    },
  },
  'failover-costs-repeats-only': {
    'test/integration/relay/lease.test.ts': {
      'lane-owned-across-a-restart': {
        file: 'outbox.lane_owned()',
        find: 'and l.incarnation = outbox.incarnation()',
        title: 'a lane taken before a restart of the server has to be taken anew',
      },
    },
    'test/faults/failover.test.ts': {
      'claim-of-a-standby': {
        file: 'outbox.claim()',
        find: 'if pg_is_in_recovery() then',
        replace: 'if false then',
      },
    },
    'test/integration/relay/lost-news.test.ts': {
      'quiet-lanes-survive-a-restart': {
        file: 'src/relay/watcher.ts',
        find: 'const blind = last?.incarnation !== incarnation;',
        replace: 'const blind = last === null;',
      },
    },
  },
  'thawed-process-does-no-harm': {
    'test/integration/relay/claim-ahead.test.ts': {
      'claim-ahead-of-a-pause': {
        file: 'src/relay/lane-claims.ts',
        find: 'claimed?.owned === true && !paused ?',
        replace: 'claimed?.owned === true && paused !== undefined ?',
        title: 'a claim made before a pause is not sent after it',
      },
    },
    'test/integration/relay/lease.test.ts': {
      'lease-taken-early': {
        file: 'outbox.lane_taken()',
        find: 'l.alive_until between clock_timestamp() and',
        replace: `l.alive_until between clock_timestamp() + interval '5 s' and`,
        title: 'a lease lasts to its last second',
      },
      'settle-without-the-owner': {
        file: 'src/store/lane/lane-row.ts',
        find: `outbox.lane_owned(l, $3)';`,
        replace: `$3::uuid is not null';`,
        title: 'an owner that lost its lane claims nothing',
      },
    },
    'test/unit/relay/drain-batches.test.ts': {
      'renewal-ignores-the-loss': {
        file: 'src/relay/lane-lease.ts',
        find: 'else this.lose();',
        title: 'a lane that is lost during a slow publish stops it',
      },
      'stale-claim-sent-unasked': {
        file: 'src/relay/lane-delivery.ts',
        find: 'if (lease.staleSince(claimedAt) && !(await lease.renew())) return undefined;',
        title: 'a batch that waited for half a lease is sent only if the lane is still owned',
      },
    },
  },
};
