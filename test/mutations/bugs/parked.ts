import type { Bugs } from '../mutation.ts';

/** Messages that are tried later. */
export const parkedBugs: Bugs = {
  'waiting-key-blocks-no-other': {
    'test/invariants/parked-key-race.test.ts': {
      'every-key-queues': {
        file: 'outbox.receive()',
        find: `x.topic = d.topic and x.key >= d.key and x.key <= d.key
              order by x.key limit 1) f))
      order by k.id for key share
    )
    select array_agg(exists (select from locked l where l.topic = coalesce(u.topic, p_topics[1]) and l.key = u.key) order by u.n)`,
        replace: `x.topic = d.topic) f))
      order by k.id for key share
    )
    select array_agg(exists (select from locked l where l.topic = coalesce(u.topic, p_topics[1])) order by u.n)`,
      },
    },
  },
  'hot-key-leaves-parking': {
    'test/integration/parked/queues.test.ts': {
      'parked-queue-one-by-one': {
        file: 'src/inbox/parked/key-drain.ts',
        find: 'await this.#begin(keyId, pace.size, false)',
        replace: 'await this.#begin(keyId, Math.min(pace.size, 1), false)',
      },
    },
    'test/integration/parked/tries.test.ts': {
      'try-walks-over-what-was-handled': {
        file: 'outbox.begin_try()',
        find: 'and x.position > k.ended',
        title: 'a try reads almost nothing of the messages handled before it, while an old snapshot',
      },
    },
  },
  'parked-key-keeps-workflow': {
    'test/integration/temporal/handle.test.ts': {
      'workflow-replaced-while-it-waits': {
        file: 'src/temporal/parked-key/starter.ts',
        find: 'return (raw.pendingActivities ?? []).length === 0;',
        replace: 'return (raw.pendingActivities ?? []).length >= 0;',
        title: 'a key whose drain waits for one of few slots keeps its workflow',
      },
    },
  },
  'key-of-killed-consumer-continues': {
    'test/integration/parked/kills.test.ts': {
      'dead-processes-not-looked-for': {
        file: 'outbox.end_dead_tries()',
        find: 'when not outbox.worker_died(w)',
        title: 'a try of a dead process ends at once: it counts as a kill, not as an attempt, and its key',
      },
      'dead-try-keeps-its-time': {
        file: 'outbox.bury_try()',
        find: ', next_at = outbox.clock()',
        title: 'a try of a dead process ends at once: it counts as a kill, not as an attempt, and its key',
      },
    },
  },
  'parked-tried-without-temporal': {
    'test/integration/parked/watcher-stand-ins.test.ts': {
      'key-stand-in-waits-for-temporal': {
        file: 'src/inbox/parked/parked-watcher.ts',
        find: 'free: answering ? late : due.idle',
        replace: 'free: late',
      },
      'key-stand-in-gives-its-workflow-no-time': {
        file: 'src/inbox/parked/parked-watcher.ts',
        find: 'answering ? late :',
      },
      'key-outage-unnoticed-while-nothing-starts': {
        file: 'src/inbox/parked/workflow-starts.ts',
        find: 'if (this.#toBeAsked && isEmpty(wanted))',
        replace: 'if (!this.#toBeAsked && isEmpty(wanted))',
      },
      'outage-without-a-failed-start-never-ends': {
        file: 'src/inbox/parked/workflow-starts.ts',
        find: '|| this.#input.away()',
      },
    },
    'test/integration/parked/tries.test.ts': {
      'key-begun-try-taken-by-another': {
        file: 'outbox.begin_try()',
        find: 'cardinality(p_retry_ms))], 5000)',
        replace: 'cardinality(p_retry_ms))], 0)',
        title: 'a try that one process has begun no other begins for five seconds, however short the',
      },
    },
    'test/unit/inbox/stand-ins.test.ts': {
      'key-stand-in-beside-its-workflow': {
        file: 'src/inbox/parked/stand-ins.ts',
        find: 'await standIn?.over;',
        replace: 'await Promise.resolve();',
      },
      'key-stand-ins-have-slots-of-their-own': {
        file: 'src/inbox/parked/stand-ins.ts',
        find: 'const slot = this.#input.slots.tryTake();',
        replace: 'const slot = this.#input.slots.tryTake() ?? { free: () => undefined };',
      },
    },
  },
  'order-survives-parking': {
    'test/invariants/parked-key-race.test.ts': {
      'parked-queue-ignored': {
        file: 'outbox.receive()',
        find: `case when behind[u.n] then 'behind' else 'new' end`,
        replace: `'new'`,
      },
      'batch-overtakes-a-key-just-parked': {
        file: 'outbox.receive()',
        find: 'if cardinality(p_ids) > 1 and exists (',
        replace: 'if cardinality(p_ids) < 1 and exists (',
      },
    },
    'test/integration/inbox/retry-fence.test.ts': {
      'retry-does-not-wait-for-older-handlers': {
        file: 'outbox.begin_try()',
        find: 'if k.unseen_before is not null then',
        replace: 'if k.unseen_before is null then',
      },
      'retry-waits-half-a-minute-for-handlers': {
        file: 'outbox.begin_try()',
        find: 'if k.unseen_before is not null then',
        replace: `if k.unseen_before is not null and outbox.clock() < k.parked_at + interval '30 s' then`,
      },
      'retry-waits-for-transactions-of-others': {
        file: 'outbox.older_handlers()',
        find: `and looked.relation = 'outbox.parked_key'::regclass`,
      },
      'retry-does-not-wait-for-batches': {
        file: 'outbox.receive()',
        find: 'perform pg_current_xact_id();',
        replace: 'perform 1;',
      },
    },
    'test/integration/parked/kept-bulk.test.ts': {
      'later-ones-overtake-a-busy-one': {
        file: 'outbox.retry_kept_in_order()',
        find: 'if v_key = any (v_busy) then',
        replace: 'if false then',
      },
    },
  },
  'unknown-messages-fill-no-table': {
    'test/integration/parked/kept-retention.test.ts': {
      'failed-messages-never-expire': {
        file: 'outbox.drop_failed_kept()',
        find: 'and k.updated_at < outbox.clock()',
        replace: 'and false and k.updated_at < outbox.clock()',
        title: 'failed messages are deleted when their group requests it; those that block their key and',
      },
      'failed-message-goes-that-holds-its-key': {
        file: 'outbox.drop_failed_kept()',
        find: 'and k.key_id is null',
        title: 'failed messages are deleted when their group requests it; those that block their key and',
      },
    },
  },
  'replaced-try-does-nothing': {
    'test/integration/parked/tries.test.ts': {
      'overtaken-try-joined': {
        file: 'outbox.join_try()',
        find: 'and k.tries = p_number',
        title: 'an overtaken try cannot be joined',
      },
      'overtaken-try-given-back': {
        file: 'outbox.return_try()',
        find: 'and x.tries = p_number',
        title: 'a try is returned at most once, and not after another one has overtaken it',
      },
      'try-given-back-counts': {
        file: 'outbox.return_try()',
        find: 'attempts = greatest(p.attempts - 1, 0),',
        title: 'a returned try is not counted, and the next one is due at the given time',
      },
    },
  },
  'try-without-handler-does-not-count': {
    'test/integration/inbox/handler-elsewhere.test.ts': {
      'missing-handler-counts-as-a-try': {
        file: 'src/inbox/parked/uncounted-tries.ts',
        find: `&& error.code === 'OUTBOX_HANDLER_MISSING'`,
        replace: `&& error.code === 'OUTBOX_INTERNAL'`,
      },
    },
  },
  'hostile-messages-refused': {
    'test/unit/inbox/hostile-messages.test.ts': {
      'broken-text-let-through': {
        file: 'src/inbox/reading/parse-body.ts',
        find: 'if (!isUtf8(body)) throw',
        replace: 'if (body.length < 0 && !isUtf8(body)) throw',
        title: 'half a surrogate pair is not UTF-8, and an escaped one arrives as it was sent',
      },
    },
    'test/integration/inbox/foreign.test.ts': {
      'kept-ids-of-two-sources-equal': {
        file: 'src/inbox/handling/arrived.ts',
        find: `eventId(id, incoming.header('ce_source'),`,
        replace: 'eventId(id, undefined,',
        title: 'every event of an unknown topic is kept',
      },
    },
  },
  'dead-letters-copied': {
    'test/integration/inbox/letter-rounds.test.ts': {
      'letters-behind-a-refused-one-wait': {
        file: 'src/inbox/parked/dead-letters.ts',
        find: 'const next = away || blocked.length === left.length ? [] : blocked;',
        replace: 'const next: typeof blocked = away ? [] : [];',
      },
      'letter-turn-of-a-wrong-clock-stays': {
        file: 'src/store/inbox/dead-letters.ts',
        find: `t.ends_at not between clock_timestamp() and clock_timestamp() + $3 * interval '2 ms'`,
        replace: 't.ends_at < clock_timestamp()',
      },
    },
  },
  'retry-delays-apply-everywhere': {
    'test/unit/relay/plan-settlement.test.ts': {
      'repeated-settle-judged-by-the-lane': {
        file: 'src/relay/plan-settlement.ts',
        find: 'claimSnapshot: claim.snapshot,',
        replace: 'claimSnapshot: progress.snapshot ?? claim.snapshot,',
      },
    },
    'test/integration/inbox/handler-options.test.ts': {
      'first-delay-of-the-consumer': {
        file: 'src/inbox/intake/applier.ts',
        find: `const [firstMs] = delaysOf('retryMs', message.route, tries.retryMs);`,
        replace: 'const [firstMs] = tries.retryMs;',
      },
    },
    'test/integration/parked/tries.test.ts': {
      'given-up-without-its-handler': {
        file: 'src/store/inbox/tries.ts',
        find: 'array_fill($2::float8, array[${moreTriesThanAny}])',
        replace: 'array_fill($2::float8, array[1])',
        title: 'a try has the delays of its topic, and a consumer without its handler gives none up',
      },
    },
    'test/integration/relay/settle.test.ts': {
      'repeated-settle-counts-again': {
        file: 'src/store/lane/settle.ts',
        find: 'pg_visible_in_snapshot(m.xid, $11::pg_snapshot)',
        replace: '$11::pg_snapshot is not null',
      },
    },
  },
};
