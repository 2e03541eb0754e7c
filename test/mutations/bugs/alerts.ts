import type { Bugs } from '../mutation.ts';

/** Alerts are told once. */
export const alertBugs: Bugs = {
  'alerts-told-once': {
    'test/integration/alerts/told.test.ts': {
      'alert-is-told-at-every-look': {
        file: 'src/store/alerts/alerts.ts',
        find: 'where coalesce((a.told ->> $1)::bigint, 0) < a.news',
        replace: 'where a.news > 0',
      },
      'silenced-rule-tells': {
        file: 'src/store/alerts/alerts.ts',
        find: 'and not ${isSilenced}',
      },
      'destination-waits-for-four-intervals': {
        file: 'src/app/relay/alerts.ts',
        find: 'Math.min(longestGapMs, calmReadings * everyMs)',
        replace: 'calmReadings * everyMs',
      },
    },
    'test/integration/alerts/over.test.ts': {
      'one-calm-reading-ends-an-alert': {
        file: 'src/store/alerts/alerts.ts',
        find: 'calm >= $1',
        replace: 'calm > 0 and $1 > 0',
        title: 'an alert is over after four readings in a row without it',
      },
      'new-alert-is-told-as-the-last-one': {
        file: 'src/store/alerts/alerts.ts',
        find: '>= a.began_news`;',
        replace: '> 0 and a.began_news > 0`;',
        title: 'an alert that begins anew is a new one',
      },
      'calm-readings-need-not-be-in-a-row': {
        file: 'src/store/alerts/alerts.ts',
        find: 'calm = 0,',
        title: 'an alert is over after four readings in a row without it',
      },
      'end-is-forgotten-in-a-long-silence': {
        file: 'src/store/alerts/alerts.ts',
        find: 'greatest(a.over_at, (select until from outbox.alert_silence s where s.rule = a.rule))',
        replace: 'a.over_at',
        title: 'the end of an alert that a silence of days has hidden',
      },
    },
    'test/integration/operations/figures-read.test.ts': {
      'late-topic-mutes-others': {
        file: 'src/store/figures/due-topics.ts',
        find: 'if (topics.has(topic)) continue;',
        replace: 'if (topics.size > 0) continue;',
      },
      'stopped-group-is-as-old-as-its-row': {
        file: 'src/store/inbox/consumers.ts',
        find: 'set seen_at = outbox.clock() from gone',
        replace: 'set seen_at = g.seen_at from gone',
      },
    },
    'test/integration/operations/status-reachable.test.ts': {
      'missing-topic-is-a-server-away': {
        file: 'src/app/relay/relay-presence.ts',
        find: '(lacks) => ({ error: null, away: false',
        replace: '(lacks) => ({ error: lacks, away: false',
      },
    },
    'test/integration/alerts/database-away.test.ts': {
      'database-away-is-told-to-nobody': {
        file: 'src/app/relay/start-relay.ts',
        find: 'alerts?.databaseLooked(error);',
        replace: 'alerts?.databaseLooked(null);',
      },
    },
    'test/unit/watch/rules.test.ts': {
      'certificate-fires-while-it-is-valid': {
        file: 'src/watch/figures/certificate.ts',
        find: 'below: true,',
        replace: 'below: false,',
      },
      'old-comparison-is-told-for-ever': {
        file: 'src/watch/figures/drift.ts',
        find: '|| last.agoMs > recentMs',
      },
      'alert-fires-at-its-threshold': {
        file: 'src/watch/firing-rules.ts',
        find: 'figure < threshold : figure > threshold',
        replace: 'figure < threshold : figure >= threshold',
      },
      'late-topic-swallows-the-alert-of-another': {
        file: 'src/watch/figures/oldest-due.ts',
        find: `.filter(({ announced }) => announced)
      .map(({ oldestDueMs, reason, topic }) => ({
        of: { topic },`,
        replace: `.filter(({ topic }) => topic !== '')
      .map(({ oldestDueMs, reason, topic }) => ({
        of: { topic: topic.slice(0, 0) },`,
        title: 'a late topic mutes no other, and one that no relay delivers is told by a rule of its own',
      },
    },
    'test/integration/operations/figures.test.ts': {
      'each-relay-reads-figures': {
        file: 'src/store/figures/figures-look.ts',
        find: 'where not outbox.lately(f.began_at, $1::float8)',
        replace: 'where $1::float8 > 0',
        title: 'one relay of two reads the figures of an interval',
      },
      'slow-figures-never-noted': {
        file: 'src/store/figures/figures-look.ts',
        find: 'where noted is null or noted < $1::bigint returning',
        replace: 'where number = $1::bigint returning',
        title: 'figures of a reading that takes longer than the interval are noted',
      },
      'forgotten-group-stands-for-ever': {
        file: 'src/store/figures/own-figures.ts',
        find: `and p.looked_at > clock_timestamp() - $1 * interval '1 ms' order`,
        replace: 'and $1 > 0 order',
        title: 'figures count messages, tries, holds, stalls',
      },
      'figures-have-certificates-of-dead-relays': {
        file: 'src/store/installation/certificates.ts',
        find: 'where r.seen_at > clock_timestamp() -',
        replace: 'where r.seen_at < clock_timestamp() +',
        title: 'figures have of each certificate',
      },
      'row-of-the-retention-is-a-group': {
        file: 'src/store/installation/relays.ts',
        find: `where consumer_group <> ''`,
        title: 'the row that the retention keeps for all groups',
      },
    },
    'test/integration/kafka/stalled-groups.test.ts': {
      'group-of-a-failing-call-stands-no-more': {
        file: 'src/store/installation/standing-groups.ts',
        find: 'do update set looked_at = clock_timestamp()',
        replace: 'do nothing',
        title: 'a group that stands goes on to stand in the figures, however long ago that was first seen',
      },
    },
    'test/integration/operations/status-lane-states.test.ts': {
      'blocked-messages-hide-failed-ones': {
        file: 'src/store/lane/status.ts',
        find: 'order by m.position limit $1) b',
        replace: ') b limit $1',
      },
    },
    'test/integration/inbox/status-limits.test.ts': {
      'oldest-parked-of-those-counted': {
        file: 'src/store/inbox/status.ts',
        find: 'least(p.oldest, greatest(kept.arrived_at, kept.queued_at), b.oldest)',
        replace: 'p.oldest',
      },
      'blocked-keys-of-those-counted': {
        file: 'src/store/inbox/status.ts',
        find: `outbox.parked_key k where k.consumer_group = n.name and k.next_at = 'infinity' limit $1`,
        replace: `(select * from outbox.parked_key k where k.consumer_group = n.name limit $1) k where k.next_at = 'infinity'`,
      },
      'retried-message-is-parked-since-it-arrived': {
        file: 'src/store/inbox/status.ts',
        find: 'greatest(p.arrived_at, k.parked_at) as since',
        replace: 'p.arrived_at as since',
      },
    },
    'test/integration/alerts/outage.test.ts': {
      'relay-judges-no-figures': {
        file: 'src/app/relay/deliver.ts',
        find: 'input.alerts?.start();',
      },
    },
    'test/integration/relay/certificates.test.ts': {
      'relay-reads-no-certificates': {
        file: 'src/app/relay/start-relay.ts',
        find: 'loadedCertificates({ config, database: at, temporal: target })',
        replace: '[]',
      },
    },
    'test/unit/app/loaded-certificates.test.ts': {
      'relay-reads-no-certificate-of-the-database': {
        file: 'src/app/relay/loaded-certificates.ts',
        find: `...endsOf('PostgreSQL', () => clientConfig(database).ssl),`,
      },
      'last-authority-ends': {
        file: 'src/app/relay/loaded-certificates.ts',
        find: 'toSorted().slice(0, 1)',
        replace: 'toSorted().slice(-1)',
      },
      'issuer-of-the-client-ends': {
        file: 'src/app/relay/loaded-certificates.ts',
        find: 'endsIn(tls.cert).slice(0, 1)',
        replace: 'endsIn(tls.cert).slice(-1)',
      },
    },
    'test/unit/watch/figure-metrics.test.ts': {
      'messages-that-are-gone-are-counted': {
        file: 'src/watch/figures/counts.ts',
        find: `// A topic that is not read any more has none.
    ends: true,`,
        replace: '',
      },
    },
    'test/unit/store/clock-offset.test.ts': {
      'late-answer-is-a-difference-of-clocks': {
        file: 'src/store/doctor/server.ts',
        find: 'Math.min(0, Date.now() - server)',
        replace: 'Date.now() - server',
      },
    },
    'test/unit/telemetry/exporter.test.ts': {
      'gauge-tells-what-it-observes-no-longer': {
        file: 'src/telemetry/exporter.ts',
        find: 'reader.selectAggregationTemporality = choose;',
      },
    },
    'test/unit/house/architecture.test.ts': {
      'alert-leads-to-no-section': {
        file: 'src/watch/runbook-entry.ts',
        find: 'alert.toLowerCase()',
        replace: 'alert',
      },
    },
    'test/unit/watch/outage-teller.test.ts': {
      'end-of-an-outage-swallowed-by-a-long-silence': {
        file: 'src/watch/outage-teller.ts',
        find: 'return last === undefined ? performance.now() - overMs <= unknownForMs : !last.over;',
        replace: 'return performance.now() - overMs <= unknownForMs && last?.over !== true;',
      },
    },
    'test/integration/doctor/seen.test.ts': {
      'group-without-a-consumer-passes-the-doctor': {
        file: 'src/operations/doctor/seen-checks.ts',
        find: '(consumers.get(group) ?? 0) === 0',
        replace: 'consumers.get(group) === 0',
      },
    },
    'test/integration/relay/late-many.test.ts': {
      'status-counts-what-is-passed-to-its-limit': {
        file: 'src/store/lane/status.ts',
        find: `l.late_snapshot, r.position, r.xid) order by r.xid limit $1) r
   where r.position + 0 <= l.cursor)`,
        replace: `null::pg_snapshot, r.position, r.xid) order by r.xid limit $1) r
   where r.position + 0 <= l.cursor and not outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, r.position, r.xid))`,
      },
    },
  },
};
