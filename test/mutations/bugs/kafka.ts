import type { Bugs } from '../mutation.ts';

/** What is sent to Kafka and read there, and what brokers leave open. */
export const kafkaBugs: Bugs = {
  'different-handlers-share-a-group': {
    'test/unit/brokers/kafka/assigner.test.ts': {
      'partition-assigned-without-a-handler': {
        file: 'src/brokers/kafka/source/assigner.ts',
        find: 'sorted.filter(({ topics }) => topics.includes(topic))',
        replace: 'sorted.filter(({ topics }) => topics.length > 0)',
      },
    },
    'test/integration/kafka/mixed-group.test.ts': {
      'assigner-of-kafkajs': {
        file: 'src/brokers/kafka/source/membership.ts',
        find: 'partitionAssigners: [assignerOver(connection)],',
      },
    },
  },
  'missing-topic-named': {
    'test/integration/kafka/source-deleted-topic.test.ts': {
      'missing-topic-left-to-kafkajs': {
        file: 'src/brokers/kafka/source/group-session.ts',
        find: 'if (!this.reconnecting.everJoined) return error;',
        replace: 'if (!this.reconnecting.everJoined) return addresses;',
      },
    },
    'test/integration/kafka/source-retention.test.ts': {
      'deleted-messages-not-reported': {
        file: 'src/brokers/kafka/source/losses.ts',
        find: 'this.#reset.add(nameOf(topic, partition));',
        replace: 'nameOf(topic, partition);',
      },
    },
  },
  'silent-broker-shown': {
    'test/integration/health/silent-kafka.test.ts': {
      'silent-broker-not-reported': {
        file: 'src/brokers/kafka/client/asked-questions.ts',
        find: 'if (answer instanceof Promise && !later)',
        replace: 'if (answer instanceof Promise && later)',
      },
    },
    'test/unit/core/health.test.ts': {
      'silence-begins-anew-with-each-question': {
        file: 'src/core/health.ts',
        find: 'if (now - mine.at > silentMs)',
        replace: 'if (now - mine.at > 1_000_000)',
      },
    },
    'test/integration/health/silent-redis.test.ts': {
      'redis-recovery-not-reported': {
        file: 'src/brokers/redis/source/queue-reader.ts',
        find: 'if (cut) changed();',
      },
    },
    'test/transports/rocketmq/faults.test.ts': {
      'rocketmq-recovery-not-reported': {
        file: 'src/brokers/rocketmq/source/group-member.ts',
        find: 'if (failures > 0) this.#answersAgain();',
      },
    },
  },
  'read-as-kafkajs-reads': {
    'test/unit/brokers/kafka/fetch-response.test.ts': {
      'first-header-of-its-name': {
        file: 'src/brokers/kafka/client/fetched-record.ts',
        find: 'if (same) {',
        replace: 'if (same && begin < 0) {',
      },
      'transactional-records-unmarked': {
        file: 'src/brokers/kafka/client/fetch-response.ts',
        find: 'inTransaction: (attributes & attribute.transactional) !== 0,',
        replace: 'inTransaction: (attributes & attribute.transactional) < 0,',
      },
    },
    'test/transports/kafka/compaction.test.ts': {
      'emptied-batch-not-passed': {
        file: 'src/brokers/kafka/client/fetch-response.ts',
        find: 'if (end !== undefined && records',
        replace: 'if (end === undefined && records',
      },
    },
    'test/unit/brokers/kafka/answer-ends.test.ts': {
      'aborted-transaction-handed-over': {
        file: 'src/brokers/kafka/client/aborted-transactions.ts',
        find: 'this.#producers.add(next.producerId);',
        replace: 'if (this.#producers.size === 0) this.#producers.add(next.producerId);',
      },
    },
    'test/unit/brokers/kafka/lazy-fetch.test.ts': {
      'old-format-dropped': {
        file: 'src/brokers/kafka/client/fetch-response.ts',
        find: 'if (bytes[prefixBytes + formatAt] !== recordFormat) throw new OldFormat();',
        replace: 'if (bytes[prefixBytes + formatAt] !== recordFormat) return [];',
      },
    },
  },
  'every-codec-read': {
    'test/integration/kafka/codecs.test.ts': {
      'lz4-not-registered': {
        file: 'src/brokers/kafka/client/codecs.ts',
        find: 'if (isGiven(CompressionCodecs[type])) continue;',
        replace: `if (isGiven(CompressionCodecs[type]) || name === 'LZ4') continue;`,
      },
    },
  },
  'inconclusive-may-be-stored': {
    'test/unit/brokers/kafka/failure.test.ts': {
      'lost-leader-counts-as-unsent': {
        file: 'src/brokers/kafka/transport/failure.ts',
        find: `6: ['NOT_LEADER_OR_FOLLOWER', maybeInTopic]`,
        replace: `6: ['NOT_LEADER_OR_FOLLOWER', refusedTopic]`,
      },
      'unlisted-answer-counts-as-unsent': {
        file: 'src/brokers/kafka/transport/failure.ts',
        find: `const unlisted: BrokerAnswer = { kind: 'split', single: 'ambiguous' };`,
        replace: `const unlisted: BrokerAnswer = { kind: 'split', single: 'rejected' };`,
      },
    },
    'test/integration/kafka/connection.test.ts': {
      'lost-answer-counts-as-unsent': {
        file: 'src/brokers/kafka/transport/broker-connection.ts',
        find: 'socket.bytesWritten > before;',
        replace: 'socket.bytesWritten < before;',
      },
    },
  },
  'wrong-clock-spends-no-attempts': {
    'test/integration/kafka/answers.test.ts': {
      'refused-time-blames-the-message': {
        file: 'src/brokers/kafka/transport/failure.ts',
        find: `32: ['INVALID_TIMESTAMP', refusedTopic],`,
      },
    },
  },
  'duplicates-bounded': {
    'test/integration/relay/claim-ahead.test.ts': {
      'claim-ahead-reads-what-is-on-the-wire': {
        file: 'src/relay/lane-claims.ts',
        find: 'from, claimed: this.#claim(from)',
        replace: 'from, claimed: this.#claim(this.#turn.at)',
        title: 'while a full batch is on the wire the next one is claimed, once',
      },
    },
    'test/integration/database/log.test.ts': {
      'taken-out-as-news': {
        file: 'outbox.take_out()',
        find: 't.position, t.xid,',
        replace: 't.position, pg_current_xact_id(),',
      },
    },
    'test/integration/doctor/database.test.ts': {
      'late-wal-writer-unnoticed': {
        file: 'src/operations/doctor/server-checks.ts',
        find: 'const slowWriterMs = 1_000;',
        replace: 'const slowWriterMs = 100_000;',
      },
    },
    'test/unit/relay/plan-settlement.test.ts': {
      'snapshot-stays': {
        file: 'src/relay/plan-settlement.ts',
        find: '...progressOf(next ?? progress),',
        replace: `...progressOf(next ?? progress),
    snapshot: progress.snapshot ?? claim.snapshot,`,
      },
      'late-cursor-moves-back': {
        file: 'src/relay/lane-progress.ts',
        find: 'if (at.late !== undefined && BigInt(last) < BigInt(at.late.cursor)) return undefined;',
      },
      'late-cursor-with-its-first-snapshot': {
        file: 'src/relay/lane-progress.ts',
        find: 'late: { cursor: last, snapshot } };',
        replace: 'late: { cursor: last, snapshot: at.late?.snapshot ?? snapshot } };',
      },
    },
    'test/integration/relay/late-copies.test.ts': {
      'amid-late-an-adoption-forgets-what-is-sent': {
        file: 'src/store/installation/adopt.ts',
        find: 'l.late_cursor, l.late_snapshot, m.position, m.xid)`;',
        replace: 'null, null, m.position, m.xid)`;',
      },
    },
    'test/integration/relay/late-hazards.test.ts': {
      'amid-late-a-lane-change-moves-what-is-sent': {
        file: 'src/store/lane/lanes-walk.ts',
        find: 'l.late_cursor, l.late_snapshot, m.position, m.xid)',
        replace: 'null, null, m.position, m.xid)',
      },
      'amid-late-the-next-owner-starts-over': {
        file: 'src/store/lane/lease.ts',
        find: 'return row && { ...row, late: row.late ?? undefined };',
        replace: 'return row && { ...row, late: undefined };',
      },
    },
    'test/unit/brokers/kafka/doubts.test.ts': {
      'doubtful-partition-never-rests': {
        file: 'src/brokers/kafka/transport/doubts.ts',
        find: 'const free = 3;',
        replace: 'const free = 3_000;',
      },
    },
    'test/transports/kafka/quotas.test.ts': {
      'throttle-unread': {
        file: 'src/brokers/kafka/transport/broker-connection.ts',
        find: 'Math.max(this.#throttledUntilMs, performance.now() + reply.throttledMs);',
        replace: 'this.#throttledUntilMs;',
      },
    },
    'test/integration/kafka/answers.test.ts': {
      'unsent-clears-doubts': {
        file: 'src/brokers/kafka/transport/kafka-transport.ts',
        find: `if (result.kind !== 'hold')`,
      },
    },
    'test/integration/relay/lease-session.test.ts': {
      'replaced-session-not-noticed': {
        file: 'src/relay/lane-lease.ts',
        find: 'this.#session()?.key !== this.#tiedTo',
        replace: 'this.#tiedTo === undefined',
      },
    },
  },
  'recovers-by-itself': {
    'test/invariants/isolation.test.ts': {
      'hold-outlasts-its-cause': {
        file: 'src/relay/timings.ts',
        find: 'probeIntervalMs: 1_000,',
        replace: 'probeIntervalMs: 8_000,',
      },
    },
    'test/unit/relay/plan-settlement.test.ts': {
      'hold-uses-up-an-attempt': {
        file: 'src/relay/plan-settlement.ts',
        find: `return { id, to: 'ready', maybePublished`,
        replace: `return { id, to: 'ready', attempt: 'ambiguous', maybePublished`,
      },
    },
    'test/integration/kafka/answers.test.ts': {
      'sure-refusal-counts-as-doubt': {
        file: 'src/brokers/kafka/transport/kafka-transport.ts',
        find: '&& result.stored',
      },
      'moved-leader-not-looked-for': {
        file: 'src/brokers/kafka/transport/produce.ts',
        find: `if (failure.kind === 'hold') this.#metadata.forget(address);`,
      },
    },
    'test/unit/relay/watcher.test.ts': {
      'swept-lane-stays-quiet': {
        file: 'src/relay/watcher.ts',
        find: 'this.#input.starter.heard(lanes);',
      },
    },
    'test/integration/relay/lost-news.test.ts': {
      'quiet-lanes-rely-on-looks': {
        file: 'src/relay/quiet-lanes.ts',
        find: '.slice(0, due)) this',
        replace: '.slice(due, 0)) this',
      },
    },
  },
};
