import type { Bugs } from '../mutation.ts';

/** What an operator sees. */
export const watchingBugs: Bugs = {
  'unreachable-is-visible': {
    'test/transports/rocketmq/enforced.test.ts': {
      'wrong-secrets-are-missing-privileges': {
        file: 'src/brokers/rocketmq/client/administration.ts',
        find: 'ofUser.test(said)',
        replace: 'said === ofUser.source',
      },
    },
    'test/unit/brokers/rocketmq/options.test.ts': {
      'brokers-are-asked-without-the-tls-of-proxies': {
        file: 'src/brokers/rocketmq/transport/rocketmq-options.ts',
        find: 'return (brokerTls ?? secured)();',
        replace: 'return brokerTls?.() ?? false;',
      },
    },
    'test/unit/brokers/rocketmq/remoting-link.test.ts': {
      'another-server-ends-the-process': {
        file: 'src/brokers/rocketmq/client/remoting-link.ts',
        find: 'if (headerEnd > frame.length) return undefined;',
        replace: 'if (headerEnd > frame.length) throw new Error();',
      },
    },
    'test/unit/brokers/rocketmq/foreign-answers.test.ts': {
      'other-server-taken-for-rocketmq': {
        file: 'src/brokers/rocketmq/client/administration.ts',
        find: 'if (!isObject(brokers)) throw',
        replace: 'if (brokers === 0) throw',
      },
    },
    'test/integration/database/connections-exhausted.test.ts': {
      'full-server-reads-as-away': {
        file: 'src/store/database/database-failure.ts',
        find: 'if (code === tooManyConnections)',
        replace: 'if (code === `${tooManyConnections}0`)',
      },
    },
    'test/integration/operations/status-reachable.test.ts': {
      'lane-with-work-is-quiet': {
        file: 'src/cli/status-command.ts',
        find: 'if (!lane.hasWork) return lane.blocked',
        replace: 'if (lane.hold === null) return lane.blocked',
      },
      'dead-relay-lives-on': {
        file: 'src/store/installation/relays.ts',
        find: 'export const relayStaleMs = 15_000;',
        replace: 'export const relayStaleMs = 15_000_000;',
      },
    },
  },
  'state-by-exit-code': {
    'test/unit/operations/status-conditions.test.ts': {
      'unknown-figure-fails': {
        file: 'src/operations/delivery/status-conditions.ts',
        find: 'holds: value !== null && compare(value, bound)',
        replace: 'holds: compare(value ?? 0, bound)',
      },
      'dead-relays-counted': {
        file: 'src/operations/delivery/status-conditions.ts',
        find: `count('relays that run', (at) => total(at.relays, ({ alive }) => (alive ? 1 : 0))),`,
        replace: `count('relays that run', (at) => at.relays.length),`,
      },
    },
    'test/integration/cli/fail-if.test.ts': {
      'failed-condition-ends-with-0': {
        file: 'src/cli/status-command.ts',
        find: 'return failed.length === 0 ? exitCodes.ok : exitCodes.failed;',
        replace: 'return exitCodes.ok;',
        built: true,
      },
    },
  },
  'pages-show-each-once': {
    'test/integration/api/second-pages.test.ts': {
      'kept-pages-lose-a-shared-position': {
        file: 'src/store/inbox/list.ts',
        find: `(p.position, p.message_id) < (coalesce($7::bigint, 9223372036854775807), coalesce($8::text, '') collate "C")`,
        replace: 'p.position < coalesce($7::bigint, 9223372036854775807) and ($8::text is null or true)',
      },
    },
    'test/integration/operations/list.test.ts': {
      'list-page-without-its-floor': {
        file: 'src/store/message/list.ts',
        find: '(a.position, a.id) >= (f.position, f.id)',
        replace: 'a.position > f.position',
        title: 'go on where a message that was edited three times shares its position',
      },
    },
  },
  'tail-omits-nothing-silently': {
    'test/integration/operations/tail.test.ts': {
      'tail-misses-late-commits': {
        file: 'outbox.visible_since()',
        find: 'm.xid = running.xid offset 0',
        replace: 'm.xid = running.xid and false offset 0',
      },
      'tail-hides-gaps': {
        file: 'src/operations/messages/tail.ts',
        find: 'this.#gap ||= full;',
      },
      'tail-follows-nothing': {
        file: 'src/operations/messages/tail.ts',
        find: 'this.#ready.add(id);',
      },
    },
    'test/integration/operations/tail-plan.test.ts': {
      'tail-scans-passed-leaves': {
        file: 'src/store/retention/leaf.ts',
        find: `await moveTo(sql, n, 'log_passed');`,
        replace: `await moveTo(sql, n, 'log_passed');
    await sql.query(\`drop index outbox.log_\${n}_xid_idx\`);`,
      },
    },
  },
  'probes-restart-nothing': {
    'test/unit/app/health-server.test.ts': {
      'silent-connections-keep-probes-out': {
        file: 'src/app/listen.ts',
        find: 'if (open.size > mostConnections) oldest?.destroy();',
        replace: 'if (open.size > mostConnections) socket.destroy(oldest && undefined);',
      },
      'live-only-while-joined': {
        file: 'src/app/health-server.ts',
        find: `'/live': ({ state }) => state !== 'stopped',`,
        replace: `'/live': ({ joined }) => joined,`,
      },
      'probes-show-texts-of-errors': {
        file: 'src/core/health.ts',
        find: '{ code: error.code }',
        replace: '{ code: error.code, error: error.message }',
      },
    },
    'test/unit/core/health.test.ts': {
      'health-as-json-quotes-values': {
        file: 'src/core/health.ts',
        find: 'return withoutText(this);',
        replace: 'return { ...this };',
      },
    },
  },
  'stopped-elsewhere-is-shown': {
    'test/integration/operations/status-breakers.test.ts': {
      'payload-in-the-row-of-a-breaker': {
        file: 'src/inbox/told-error.ts',
        find: 'bodies.map(valueOf)',
        replace: 'bodies.map(() => null)',
      },
      'dead-consumer-pauses-on': {
        file: 'src/store/inbox/breakers.ts',
        find: 'const staleMs = 6_000;',
        replace: 'const staleMs = 6_000_000;',
      },
    },
    'test/integration/operations/status-lane-locks.test.ts': {
      'locks-of-milliseconds-reported': {
        file: 'src/operations/delivery/lane-locks.ts',
        find: '&& openMs >= afterMs',
      },
      'lock-of-the-table-not-reported': {
        file: 'src/operations/delivery/lane-locks.ts',
        find: `const all = extent === 'table';`,
        replace: `const all = extent === 'reads';`,
      },
    },
    'test/unit/operations/timeline.test.ts': {
      'timeline-by-place': {
        file: 'src/operations/timeline/entry.ts',
        find: 'return placed.toSorted((a, b) => (a.at === b.at ? 0 : a.at - b.at)).map',
        replace: 'return placed.map',
      },
    },
    'test/integration/operations/timeline.test.ts': {
      'timeline-leaves-out-groups-elsewhere': {
        file: 'src/operations/timeline/group-sides.ts',
        find: 'return [...mine, ...there];',
        replace: 'return mine;',
      },
    },
  },
  'timeline-is-honest': {
    'test/integration/operations/timeline.test.ts': {
      'effect-after-parking-without-its-time': {
        file: 'outbox.end_try()',
        find: 'perform outbox.note_ended(p_group, p_ids, outbox.clock() + (clock_timestamp() - now()));',
      },
    },
    'test/integration/inbox/processed-drop.test.ts': {
      'carried-id-without-its-end': {
        file: 'outbox.carry_kept()',
        find: 'p.expired, p.ended_at',
        replace: 'p.expired, null',
      },
    },
    'test/integration/operations/why-groups.test.ts': {
      'removed-kept-message-told-as-handled': {
        file: 'outbox.drop_ended_kept()',
        find: `set ended_at = 'infinity'`,
        replace: 'set ended_at = null',
      },
      'removed-failed-message-told-as-handled': {
        file: 'outbox.drop_failed_kept()',
        find: `set ended_at = 'infinity'`,
        replace: 'set ended_at = null',
      },
      'expired-message-told-as-handled': {
        file: 'src/store/inbox/traces.ts',
        find: `when p.expired then 'expired'`,
        replace: `when p.expired then 'committed'`,
      },
      'lag-of-groups-elsewhere-not-asked': {
        file: 'src/app/relay/relay-presence.ts',
        find: 'config.groups ??',
      },
    },
    'test/integration/operations/show-log.test.ts': {
      'another-record-taken-for-the-message': {
        file: 'src/operations/timeline/log-entry.ts',
        find: 'records.find((record) => record.id === id)',
        replace: `records.find((record) => record.id !== '')`,
      },
      'deleted-record-not-told-as-deleted': {
        file: 'src/operations/timeline/log-entry.ts',
        find: 'BigInt(from) + BigInt(count) <= BigInt(whole.from)',
        replace: 'BigInt(from) + BigInt(count) < BigInt(whole.from)',
      },
    },
  },
  'consumers-visible': {
    'test/integration/operations/status-consumers.test.ts': {
      'stopped-consumer-runs-on': {
        file: 'src/inbox/consumer-presence.ts',
        find: 'removeConsumer(sql, id)',
        replace: 'removeConsumer(sql, randomUUID())',
      },
      'consumer-seen-once': {
        file: 'src/store/inbox/consumers.ts',
        find: 'seen_at = clock_timestamp(),',
      },
    },
  },
  'closed-output-is-no-failure': {
    'test/integration/cli/edges.test.ts': {
      'closed-pipe-is-a-failure': {
        file: 'src/cli/run-program.ts',
        find: `if (error.code !== 'EPIPE')`,
        built: true,
      },
    },
  },
};
