import type { Bugs } from '../mutation.ts';

/** What handlers may do, and what they are given. */
export const handlerBugs: Bugs = {
  'handler-has-last-word': {
    'test/unit/core/two-copies.test.ts': {
      'copies-share-nothing': {
        file: 'src/core/shared.ts',
        find: 'return Symbol.for(`temporal-outbox/${name}`);',
        replace: 'return Symbol(`temporal-outbox/${name}`);',
      },
    },
    'test/integration/inbox/verdicts.test.ts': {
      'permanent-tried-quickly': {
        file: 'src/inbox/intake/settle-one.ts',
        find: `if (verdictOf(error) !== undefined) return this.#park(message, 'error', error);`,
      },
      'permanent-parked': {
        file: 'src/inbox/intake/applier.ts',
        find: `verdict?.kind === 'permanent' ||`,
      },
      'permanent-tried-again-when-parked': {
        file: 'src/inbox/parked/failed-try.ts',
        find: 'final: permanent || isFinal(refusal)',
        replace: 'final: isFinal(refusal)',
      },
      'parked-by-the-rules-despite-a-verdict': {
        file: 'src/inbox/intake/applier.ts',
        find: `verdict?.kind === 'retry-after' ? verdict.inMs : (firstMs ?? 0)`,
        replace: 'firstMs ?? 0',
      },
      'verdict-opens-the-breaker': {
        file: 'src/inbox/parked/uncounted-tries.ts',
        find: 'if (verdictOf(error) !== undefined) {',
        replace: 'if (verdictOf(error) === null) {',
      },
    },
  },
  'handler-may-throw-anything': {
    'test/integration/database/storable-texts.test.ts': {
      'text-that-postgresql-refuses-in-a-hold': {
        file: 'src/store/database/storable-text.ts',
        find: `typeof part === 'string' ? storableText(part) :`,
      },
    },
    'test/integration/inbox/thrown-values.test.ts': {
      'unstorable-error-stops-its-partition': {
        file: 'src/inbox/intake/applier.ts',
        find: 'if (faultOf(unkept) !== undefined) throw unkept;',
        replace: 'if (faultOf(unkept) !== undefined || cause) throw unkept;',
      },
    },
  },
  'error-told-with-causes': {
    'test/unit/core/cause-chain.test.ts': {
      'causes-of-causes-untold': {
        file: 'src/core/cause-chain.ts',
        find: 'current = causeOf(current);',
        replace: 'current = undefined;',
      },
    },
  },
  'secrets-stay-secret': {
    'test/integration/doctor/repeated-secrets.test.ts': {
      'repeated-secret-told': {
        file: 'src/core/secrets.ts',
        find: `told = told.replaceAll(one, '…');`,
        replace: 'told = told.replace(one, one);',
      },
    },
    'test/unit/house/foreign-text.property.test.ts': {
      'malformed-address-told': {
        file: 'src/store/database/client-config.ts',
        find: `{ details: { setting: 'database.url' } },`,
        replace: `{ details: { setting: 'database.url' }, cause: error },`,
      },
    },
    'test/integration/doctor/repeated-tokens.test.ts': {
      'secret-behind-a-user-told': {
        file: 'src/core/secrets.ts',
        find: 'const base64 = [0, 1, 2].map(',
        replace: 'const base64 = [0].map(',
      },
    },
    'test/unit/core/error-type.test.ts': {
      'metrics-quote-names-of-errors': {
        file: 'src/core/error-type.ts',
        find: 'return className.test(error.name) ?',
        replace: 'return error.name !== undefined ?',
      },
    },
  },
  'handler-signal-fires': {
    'test/integration/inbox/signal.test.ts': {
      'limit-does-not-fire-the-signal': {
        file: 'src/inbox/handling/handler-transactions.ts',
        find: 'startTimer(() => this.giveUp(tooLong(this.#limitMs)), Math.max(0, leftMs))',
        replace: 'startTimer(() => undefined, Math.max(0, leftMs))',
      },
      'given-up-counts': {
        file: 'src/inbox/parked/key-drain.ts',
        find: 'if (error instanceof GivenUp) return this.#giveBack(begun);',
      },
      'stand-ins-stop-after-the-watcher': {
        file: 'src/inbox/start-parked.ts',
        find: 'await Promise.all([watcher.stop(), standIns.stop(), hosted.stop()]);',
        replace: 'await watcher.stop(); await Promise.all([standIns.stop(), hosted.stop()]);',
      },
    },
    'test/unit/core/timer.test.ts': {
      'long-timer-fires-at-once': {
        file: 'src/core/timer.ts',
        find: 'if (ms <= longestTimerMs) return',
        replace: 'if (ms > 0) return',
      },
    },
    'test/unit/brokers/kafka/pulse.test.ts': {
      'lost-member-does-not-fire-the-signal': {
        file: 'src/brokers/kafka/source/pulse.ts',
        find: 'if (out.has(type)) this.#lost.abort();',
        replace: 'if (out.has(error)) this.#lost.abort();',
      },
    },
  },
  'middlewares-wrap-transactions': {
    'test/integration/inbox/middleware.test.ts': {
      'parked-tries-without-middlewares': {
        file: 'src/inbox/parked/key-drain.ts',
        find: 'handlers.run(ready, undefined,',
        replace: 'handlers.run([], undefined,',
      },
    },
    'test/unit/inbox/middleware.test.ts': {
      'middleware-swallows-a-failure': {
        file: 'src/inbox/middleware.ts',
        find: `await inner;
  };`,
        replace: '};',
      },
    },
  },
  'forgotten-promise-reported': {
    'test/integration/inbox/consumer-life.test.ts': {
      'forgotten-promise-not-reported': {
        file: 'src/inbox/handler.ts',
        find: 'if (!told && !isThenable(answer)) {',
        replace: 'if (told && !isThenable(answer)) {',
      },
    },
  },
  'batch-fills-or-ends': {
    'test/integration/inbox/batch-wait.test.ts': {
      'batch-never-waits': {
        file: 'src/inbox/intake/message-intake.ts',
        find: 'size && waitMs ? new',
        replace: 'size && waitMs && waitMs < 0 ? new',
      },
    },
    'test/unit/inbox/gathering.test.ts': {
      'batch-waits-again-after-a-failure': {
        file: 'src/inbox/intake/gathering.ts',
        find: 'const again = gone === undefined ? 0 : ids',
        replace: 'const again = gone !== undefined ? 0 : ids',
      },
    },
    'test/unit/inbox/gathering-unordered.test.ts': {
      'batch-never-comes-together': {
        file: 'src/inbox/intake/gathering.ts',
        find: 'full === 0 && waiting',
        replace: 'full < 0 && waiting',
      },
    },
    'test/unit/brokers/kafka/answer-ends.test.ts': {
      'batch-waits-for-what-kafka-cuts': {
        file: 'src/brokers/kafka/client/fetch-response.ts',
        find: '+ 1n < BigInt(header.lastStableOffset)',
        replace: '+ 1n < 0n',
      },
    },
    'test/unit/inbox/intake-batches.test.ts': {
      'batch-skips-what-waits': {
        file: 'src/inbox/intake/steps.ts',
        find: 'batch.reject(incoming, againMs);',
        replace: 'batch.acknowledge(incoming);',
      },
    },
  },
  'pool-keeps-promises': {
    'test/integration/database/pool-client.test.ts': {
      'pool-transaction-without-end': {
        file: 'src/store/database/pool-transaction.ts',
        find: 'void this.rollBack();',
        title: 'a transaction that exceeds its time is rolled back, and later statements of its work have',
      },
      'pool-transaction-open-after-its-end': {
        file: 'src/store/database/pool-transaction.ts',
        find: 'if (this.#ended !== undefined) return Promise.reject(this.#ended);',
        title: 'a transaction refuses statements after its end, and contains those that were not awaited',
      },
      'pool-commit-before-what-is-under-way': {
        file: 'src/store/database/pool-transaction.ts',
        find: `this.#end();
    try {`,
        replace: 'try {',
        title: 'a transaction refuses statements after its end, and contains those that were not awaited',
      },
      'pool-rollback-taken-for-commit': {
        file: 'src/store/database/pool-transaction.ts',
        find: `if (command === 'ROLLBACK') throw failedBefore();`,
        title: 'a transaction with a caught error of a statement commits nothing and rejects',
      },
      'pool-connection-kept-after-its-end': {
        file: 'src/store/database/lent-connection.ts',
        find: 'this.connection.release(this.#lost);',
        replace: 'this.connection.release();',
        title: 'an unanswered commit is reported as unknown, and its connection is closed',
      },
      'pool-errors-unheard': {
        file: 'src/store/database/pool-client.ts',
        find: 'outlive(pool);',
        title: 'is replaced, without ending the process or costing its message a try',
      },
      'pool-fault-charged': {
        file: 'src/store/database/connection-lost.ts',
        find: `readonly code = '08006'`,
        replace: `readonly code = 'XX000'`,
        title: 'waiting too long for a connection rejects, and a connection that arrives later returns to',
      },
    },
    'test/unit/store/prisma8.test.ts': {
      'prisma-8-commits-what-failed': {
        file: 'src/store/database/prisma8.ts',
        find: `await run(tx, 'select 1', []).catch(refuseAborted);`,
      },
    },
    'test/integration/inbox/pool.test.ts': {
      'pool-level-of-the-database': {
        file: 'src/store/database/pool-transaction.ts',
        find: `const begin = isolationLevel === undefined ? 'begin' :`,
        replace: `const begin = isolationLevel !== null ? 'begin' :`,
        title: 'with a pool, a transaction has the isolation level and the limits of Prisma',
      },
    },
  },
};
