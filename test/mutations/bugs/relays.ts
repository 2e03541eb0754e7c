import type { Bugs } from '../mutation.ts';

/** Relays beside each other, and what holds them up. */
export const relayBugs: Bugs = {
  'one-bad-slows-no-other': {
    'test/integration/relay/release-order.test.ts': {
      'sweep-stops-at-what-is-behind-a-lock': {
        file: 'outbox.sweep()',
        find: 'exit when not is_full or released * 2 >= p_limit',
        replace: 'exit when true',
      },
    },
    'test/integration/relay/unfailed-lanes.test.ts': {
      'giving-up-waits-for-a-settle': {
        file: 'src/store/message/confirm-overdue.ts',
        find: 'order by l.n for update skip locked',
        replace: 'order by l.n for update',
      },
    },
    'test/unit/brokers/kafka/partition-send.test.ts': {
      'refused-message-skips-all-keys': {
        file: 'src/brokers/kafka/transport/partition-send.ts',
        find: '|| !blockedKeys.has(key)',
      },
    },
    'test/invariants/isolation.test.ts': {
      'failure-rests-its-lane': {
        file: 'src/relay/lane-settling.ts',
        find: 'this.#turn.at = progressOf(settlement);',
        replace: `this.#turn.at = progressOf(settlement);
    if (settlement.changes.some((change) => change.to === 'retrying')) await new Promise((then) => setTimeout(then, 600));`,
      },
    },
    'test/integration/relay/late-many.test.ts': {
      'late-walk-never-ends-behind-a-full-batch': {
        file: 'src/relay/drain.ts',
        find: 'this.#turn.at.late === undefined ? more : this.#settling.passLate(claimed)',
        replace: 'more',
      },
      'late-walk-gives-up-too-soon': {
        file: 'outbox.late_are_dense()',
        find: 'reach := reach * 4;',
        replace: 'return false;',
      },
    },
    'test/transports/kafka/fetching.test.ts': {
      'large-batches-one-partition-at-a-time': {
        file: 'src/brokers/kafka/source/group-session.ts',
        find: 'Math.min(await largestBatchBytes(this.#connection, addresses), maxFetchBytes)',
        replace: 'Math.min(512 * 1024, maxFetchBytes)',
      },
    },
    'test/transports/rabbitmq/refusals.test.ts': {
      'forbidden-routing-key-holds-its-lane': {
        file: 'src/brokers/rabbitmq/transport/failure.ts',
        find: 'namesRoutingKey(reason) ? refusedRoutingKey :',
        replace: 'namesRoutingKey(reason) ? refusedExchange :',
      },
    },
    'test/unit/brokers/workflow/calls.test.ts': {
      'busy-workflow-holds-all': {
        file: 'src/brokers/workflow/transport/call-failure.ts',
        find: 'status === exhausted && ofWorkflow.test(reason)',
        replace: `status === exhausted && reason === ''`,
      },
    },
    'test/transports/workflow/codec.test.ts': {
      'codec-refusal-holds-all': {
        file: 'src/brokers/workflow/transport/encoder.ts',
        find: `throw new EncodingFailure(error, 'message');`,
        replace: `throw new EncodingFailure(error, 'codec');`,
        title: 'stops no other one',
      },
    },
    'test/unit/relay/plan-settlement.test.ts': {
      'offset-beyond-its-column': {
        file: 'src/relay/plan-settlement.ts',
        find: '&& BigInt(offset) <= mostOffset',
      },
    },
    'test/integration/inbox/parked-snapshot.test.ts': {
      'arrival-reads-all-parked-keys': {
        file: 'outbox.write_receive_one()',
        find: 'and k.topic = p_topic and k.key >= p_key and k.key <= p_key order by k.key',
      },
      'park-reads-all-keys-of-its-group': {
        file: 'outbox.park()',
        find: `and k.key >= m ->> 'key' and k.key <= m ->> 'key' order by k.key limit 1`,
        replace: `and k.key = m ->> 'key'`,
      },
    },
    'test/integration/inbox/breaker.test.ts': {
      'successful-batches-hidden-from-the-breaker': {
        file: 'src/inbox/intake/apply.ts',
        find: `if (applied[n]?.kind === 'handled' && breaker.watches(batch.address))`,
        replace: `if (applied[n]?.kind === 'handled' && batch.address === '')`,
      },
    },
  },
  'pooler-costs-speed-only': {
    'test/integration/relay/lease-session.test.ts': {
      'session-dead-to-its-own-connection': {
        file: 'outbox.lane_taken()',
        find: 'or outbox.session_here(l.session)',
      },
    },
    'test/integration/relay/prepared-statements.test.ts': {
      'refused-without-a-prepared-statement': {
        file: 'src/store/database/prepared-statements.ts',
        find: 'if (!isRefusal(error)) throw error;',
        replace: 'if (!isRefusal(error) || !this.#refused) throw error;',
      },
    },
    'test/integration/database/pool-isolation.test.ts': {
      'conflict-of-a-statement-not-repeated': {
        file: 'src/store/database/pool.ts',
        find: 'const triesInConflict = 10;',
        replace: 'const triesInConflict = 1;',
      },
    },
    'test/integration/parked/kills.test.ts': {
      'worker-dead-to-its-own-connection': {
        file: 'outbox.end_dead_tries()',
        find: 'continue when not outbox.worker_died(w);',
        replace: 'continue when not pg_try_advisory_xact_lock(w);',
        title: 'a live process is not dead to another one that gets its connection, as behind a pooler:',
      },
    },
  },
  'dead-relay-lanes-taken-over': {
    'test/integration/relay/lease.test.ts': {
      'lane-of-a-dead-session-stays': {
        file: 'outbox.lane_taken()',
        find: 'or outbox.session_lives(l.session)',
        replace: 'or true',
        title: 'an owner whose session has ended is replaced half a second after its last renewal',
      },
    },
  },
  'no-lane-stops': {
    'test/integration/relay/lease.test.ts': {
      'lane-waited-for': {
        file: 'src/store/lane/lease.ts',
        find: 'where topic = $1 and n = $2 for update skip locked',
        replace: 'where topic = $1 and n = $2 for update',
        title: 'a new owner waits for a settle in progress and claims only the messages that it left',
      },
    },
    'test/integration/database/pool-silent.test.ts': {
      'idle-connections-outlive-a-silent-session': {
        file: 'src/store/database/pool.ts',
        find: 'openSession(address, channel, onNotify, dropAll)',
        replace: 'openSession(address, channel, onNotify, () => undefined)',
      },
    },
    'test/integration/relay/outside-locks.test.ts': {
      'renewals-pile-up': {
        file: 'src/relay/lane-lease.ts',
        find: 'if (renewing) return;',
      },
      'starts-wait-for-locked-messages': {
        file: 'src/store/lane/starts.ts',
        find: 'for no key update skip locked`',
        replace: 'for no key update`',
      },
      'locked-messages-hide-the-others': {
        file: 'src/relay/starter.ts',
        find: 'untoldMessages(this.#database, messagesPerRound, left, from)',
        replace: 'untoldMessages(this.#database, messagesPerRound, [], from)',
      },
      'silent-transaction-keeps-its-locks': {
        file: 'src/store/database/pool.ts',
        find: 'idle_in_transaction_session_timeout: idleMs,',
      },
    },
    'test/integration/relay/stuck-transport.test.ts': {
      'stuck-publish-keeps-its-lane': {
        file: 'src/relay/answered-in-time.ts',
        find: 'return await Promise.race([call(asked.signal), givenUp]);',
        replace: 'return await call(asked.signal);',
      },
    },
    'test/integration/relay/look-failed.test.ts': {
      'failed-look-begins-where-it-began': {
        file: 'src/relay/watcher.ts',
        find: 'this.#last = null;',
      },
    },
    'test/unit/relay/watcher.test.ts': {
      'quiet-lanes-survive-a-failed-look': {
        file: 'src/relay/watcher.ts',
        find: 'starter.heard(blind ? null : news);',
        replace: 'starter.heard(news);',
      },
    },
  },
  'second-database-detected': {
    'test/integration/database/adopt.test.ts': {
      'adopted-copy-sends-as-its-original': {
        file: 'src/store/installation/adopt.ts',
        find: `await sql.query('select outbox.grant_log(), outbox.write_store()');`,
      },
    },
    'test/faults/installation-twice.test.ts': {
      'every-database-knows-the-question': {
        file: 'src/store/installation/twin.ts',
        find: 'select exists (select from answered) as known',
        replace: 'select true as known',
      },
    },
  },
  'every-relay-delivers': {
    'test/integration/relay/stand-ins.test.ts': {
      'stand-in-beside-its-workflow': {
        file: 'src/relay/relay.ts',
        find: `if (this.#drains.has(lane)) return 'taken';`,
      },
      'stand-in-unmarked': {
        file: 'src/relay/relay.ts',
        find: 'return this.#drain(lane, { signal, progress });',
        replace: 'return this.#drain(lane, { signal, progress, standIn: true });',
      },
      'workflow-no-longer-wanted': {
        file: 'src/store/lane/lease.ts',
        find: 'wanted_since = case when $6 then l.wanted_since end,',
        replace: 'wanted_since = case when not $6 then l.wanted_since end,',
      },
      'engine-asked-for-every-lane': {
        file: 'src/relay/supervision.ts',
        find: '(this.#outage !== undefined && this.#asking > 0)',
        replace: 'false',
      },
      'stand-ins-left-at-a-stop': {
        file: 'src/relay/stand-ins.ts',
        find: 'await Promise.all([...this.#running.values()].map(({ done }) => done));',
      },
      'begun-before-the-first-batch': {
        file: 'src/relay/relay.ts',
        find: 'await this.#standIns.begun();',
      },
    },
    'test/unit/relay/supervision.test.ts': {
      'outage-reported-again-and-again': {
        file: 'src/relay/supervision.ts',
        find: 'if (this.#outage === undefined)',
      },
      'slow-start-reported-as-an-outage': {
        file: 'src/relay/supervision.ts',
        find: 'const reportedAfterMs = 5_000;',
        replace: 'const reportedAfterMs = 500;',
      },
    },
  },
};
