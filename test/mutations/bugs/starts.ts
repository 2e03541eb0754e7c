import type { Bugs } from '../mutation.ts';

/** Starts and ends of programs, and the database that they need. */
export const startBugs: Bugs = {
  'start-waits-for-servers': {
    'test/unit/core/patience.test.ts': {
      'wait-reported-at-every-try': {
        file: 'src/core/patience.ts',
        find: 'const sayEveryMs = 5_000;',
        replace: 'const sayEveryMs = 0;',
      },
      'servers-asked-without-a-pause': {
        file: 'src/core/patience.ts',
        find: 'const againMs = 500;',
        replace: 'const againMs = 5;',
      },
    },
    'test/integration/relay/start-interrupted.test.ts': {
      'restart-at-the-settings-ends-a-start': {
        file: 'src/app/relay/start-relay.ts',
        find: `servers.database(() => health.during('PostgreSQL', writeSettings(database, words)));`,
        replace: `health.during('PostgreSQL', writeSettings(database, words));`,
      },
      'restart-at-the-search-for-twins-ends-a-start': {
        file: 'src/app/relay/deliver.ts',
        find: 'refuseTwin({ query }, supervision.askPlace);',
        replace: 'refuseTwin({ query: (...asked) => database.query(...asked) }, supervision.askPlace);',
      },
      'consumer-asks-once-whether-it-is-migrated': {
        file: 'src/inbox/start-consumer.ts',
        find: 'const installation = await atStart(',
        replace: 'const installation = await ask(',
      },
    },
    'test/unit/deploy/files.test.ts': {
      'compose-migrates-before-kafka-listens': {
        file: 'deploy/compose.yaml',
        find: 'kafka: { condition: service_healthy }',
        replace: 'kafka: { condition: service_started }',
      },
    },
  },
  'written-consumer-stops-cleanly': {
    'test/integration/dev/init.test.ts': {
      'stop-of-a-starting-consumer-uncaught': {
        file: 'dev/init/written-files.ts',
        find: `"  if (error.code !== 'OUTBOX_STOPPED') throw error;",`,
        replace: `'  throw error;',`,
        built: true,
      },
    },
  },
  'command-ends-with-its-server': {
    'test/integration/health/silent-server.test.ts': {
      'operators-wait-for-a-server-that-is-gone': {
        file: 'src/store/database/visit.ts',
        find: 'connections, silence: operatorSilence,',
        replace: 'connections, silence: { ...operatorSilence, askEveryMs: 1_000_000 },',
        built: true,
      },
      'idle-links-keep-a-command': {
        file: 'src/store/database/pool.ts',
        find: 'const goodbyeMs = 500;',
        replace: 'const goodbyeMs = 500_000;',
        built: true,
      },
      'silent-connection-counts-as-alive': {
        file: 'src/store/database/silence.ts',
        find: 'return lostSinceMs === undefined ? {} : { lostSinceMs };',
        replace: 'return lostSinceMs === undefined ? {} : {};',
        built: true,
      },
      'working-server-counts-as-silent': {
        file: 'src/store/database/silence.ts',
        find: 'return !backend.idle;',
        replace: 'return false;',
      },
      'idle-backend-counts-as-working': {
        file: 'src/store/database/silence.ts',
        find: 'return !backend.idle;',
        replace: 'return true;',
      },
    },
  },
  'missing-outbox-reported': {
    'test/integration/database/schema-missing.test.ts': {
      'missing-schema-unnamed': {
        file: 'src/store/database/transaction.ts',
        find: 'throw statementFailure(error) ?? error;',
        replace: 'throw error;',
      },
      'table-of-user-named-as-missing-schema': {
        file: 'src/store/database/schema-missing.ts',
        find: `'42P01': /(?<![\\w$.])outbox\\.\\w+/,`,
        replace: `'42P01': /.+/,`,
      },
    },
  },
  'missing-right-reported': {
    'test/integration/database/rights-missing.test.ts': {
      'missing-right-untold': {
        file: 'src/store/database/statement-failure.ts',
        find: 'return schemaMissing(error) ?? rightMissing(error);',
        replace: 'return schemaMissing(error);',
      },
    },
  },
  'row-security-kept-off': {
    'test/integration/database/secured-tables.test.ts': {
      'new-leaf-with-row-level-security': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: 'alter table %1$s disable row level security;',
      },
    },
  },
  'row-security-named': {
    'test/integration/database/row-security.test.ts': {
      'hidden-rows-count-as-gone': {
        file: 'src/store/installation/emptied.ts',
        find: 'if (readRow(rows, { hidden: flagCell }).hidden)',
        replace: 'if (!readRow(rows, { hidden: flagCell }))',
      },
    },
  },
  'tables-not-emptied-unnoticed': {
    'test/integration/database/emptied.test.ts': {
      'emptied-schema-counts-as-none': {
        file: 'src/store/installation/migrate.ts',
        find: `if (rows.length === 0) throw await emptied(sql, 'outbox.migration');`,
      },
      'topics-can-be-emptied': {
        file: 'prisma/migrations/20261121000000_outbox/migration.sql',
        find: 'create trigger emptied before truncate on outbox.topic',
        replace: 'create trigger emptied before insert on outbox.topic when (false)',
      },
      'relay-of-emptied-tables-is-well': {
        file: 'src/store/installation/emptied.ts',
        find: 'return lost === null ? undefined',
        replace: 'return lost !== null ? undefined',
      },
    },
  },
  'added-lanes-drained': {
    'test/integration/temporal/lanes-grow.test.ts': {
      'as-few-slots-as-topics': {
        file: 'src/temporal/relay/workers.ts',
        find: 'maxConcurrentActivityTaskExecutions: topics * maxLanes,',
        replace: 'maxConcurrentActivityTaskExecutions: topics * Math.min(maxLanes, 8),',
      },
      'added-lanes-share-connections': {
        file: 'src/app/relay/relay-connections.ts',
        find: 'Math.min(Math.max(lanes, draining), mostForLanes) + spareConnections',
        replace: 'lanes + spareConnections',
      },
      'configured-connections-ignored': {
        file: 'src/app/relay/relay-connections.ts',
        find: 'database.connections ??',
      },
    },
  },
  'command-waits-for-start': {
    'test/integration/relay/start-interrupted.test.ts': {
      'command-before-the-server': {
        file: 'src/store/database/visit.ts',
        find: 'return mayBeStarting(error) && performance',
        replace: 'return heardAt < 0 && mayBeStarting(error) && performance',
      },
      'migrate-waits-for-nobody': {
        file: 'src/store/database/visit.ts',
        find: 'onceStarted(() => work(database))',
        replace: 'work(database)',
      },
    },
  },
  'abandoned-lanes-completed': {
    'test/integration/lanes/abandoned.test.ts': {
      'changes-of-operators-left-alone': {
        file: 'src/store/lane/topics.ts',
        find: `when 'lanes' then $3::integer else $4::integer end`,
        replace: `when 'lanes' then $3::integer * 1000 else $4::integer end`,
      },
    },
    'test/integration/lanes/partitions-abandoned.test.ts': {
      'killed-partitions-go-unreported': {
        file: 'src/store/lane/topics.ts',
        find: `where topic = any($1)
       and (actor`,
        replace: `where topic = any($1) and kind = 'lanes'
       and (actor`,
      },
    },
    'test/integration/lanes/change-pages.test.ts': {
      'lane-change-reads-all-at-once': {
        file: 'src/store/lane/lanes-walk.ts',
        find: 'order by m.${by} limit ${pageRows}),',
        replace: 'order by m.${by} limit 1000000000),',
      },
    },
    'test/integration/lanes/change-waits.test.ts': {
      'each-call-waits-for-new-transactions': {
        file: 'src/store/lane/lanes-switch.ts',
        find: 'where c.${column} is null or o.id = any(c.${column})',
      },
    },
    'test/integration/lanes/announced.test.ts': {
      'failed-changes-of-lanes-go-unreported': {
        file: 'src/operations/announce.ts',
        find: `if (one.status === 'rejected') failed(one.reason);`,
        replace: `if (one.status === 'rejected') continue;`,
      },
    },
  },
  'equal-partition-changes-done': {
    'test/integration/lanes/partitions-overtaken.test.ts': {
      'overtaken-partitions-unnamed': {
        file: 'src/operations/delivery/partitions.ts',
        find: 'return overtaken(database, change, error);',
        replace: 'throw error;',
      },
    },
  },
  'autovacuum-delays-no-lanes': {
    'test/integration/lanes/autovacuum.test.ts': {
      'lane-change-waits-for-autovacuum': {
        file: 'src/store/lane/lanes-switch.ts',
        find: 'and a.usesysid is not null',
      },
    },
  },
  'own-servers-per-project': {
    'test/integration/dev/servers-projects.test.ts': {
      'data-deleted-under-its-servers': {
        file: 'dev/servers/kept-servers.ts',
        find: 'refuseIfUsed(cache, folder);',
        replace: `if (cache === '') refuseIfUsed(cache, folder);`,
        built: true,
      },
      'dead-server-not-reported': {
        file: 'dev/servers/process/server-process.ts',
        find: 'if (serving === started) context.died',
        replace: 'if (serving !== started) context.died',
        built: true,
      },
    },
    'test/unit/dev/watch-answers.test.ts': {
      'broken-server-not-restarted': {
        file: 'dev/servers/process/watch-answers.ts',
        find: 'error === undefined ? 0 : errors + 1',
        replace: 'error === undefined ? 0 : 1',
      },
    },
  },
};
