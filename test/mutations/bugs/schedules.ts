import type { Bugs } from '../mutation.ts';

/** Messages that repeat, and clocks that are set back or forward. */
export const scheduleBugs: Bugs = {
  'repeating-messages': {
    'test/integration/sending/schedule.test.ts': {
      'scheduled-with-a-random-id': {
        file: 'src/store/schedule/write-due.ts',
        find: 'const answer = await storeScheduled(sql, name, due, at, due.id);',
        replace: 'const answer = await storeScheduled(sql, name, due, at);',
        title: 'a time writes one message, also when it is tried again',
      },
      'paused-schedule-writes': {
        file: 'src/store/schedule/write-due.ts',
        find: `if (due.paused) return 'paused';`,
        title: 'operators list, pause, resume, run and remove a schedule without Temporal',
      },
      'scheduled-message-never-expires': {
        file: 'src/store/schedule/write-due.ts',
        find: 'expiresAfterMs !== null && {',
        replace: 'expiresAfterMs === -1 && {',
        title: 'each message expires so long after the time that it stands for',
      },
      'late-time-written': {
        file: 'src/store/schedule/write-due.ts',
        find: `if (due.late) return 'late';`,
        title: 'a time that is later than the schedule catches up writes nothing',
      },
      'overlap-not-skipped': {
        file: 'src/store/schedule/write-due.ts',
        find: `v.state in ('waiting', 'ready', 'blocked', 'retrying')`,
        replace: `v.state in ('waiting', 'blocked', 'retrying')`,
        title: 'with overlap skip a time writes nothing while the previous message is to be sent',
      },
      'overlap-not-skipped-for-a-copy': {
        file: 'src/store/schedule/write-due.ts',
        find: 'exists (select from previous p',
        replace: 'exists (select from (select s.last_message_id as id) p',
        title: 'with overlap skip a time writes nothing while the edited copy of the previous message is',
      },
      'schedule-without-its-ref': {
        file: 'src/store/schedule/write-due.ts',
        find: '...(ref !== null && { ref }),',
        title: 'a repeat that is tried again is found and canceled by the ref of its schedule',
      },
    },
    'test/integration/temporal/repeating-apart.test.ts': {
      'schedules-not-forgotten-by-adoption': {
        file: 'src/store/installation/adopt.ts',
        find: 'await forgetFollowed(sql, newInstallation);',
      },
      'schedule-of-a-copy-repeats-the-original': {
        file: 'src/store/installation/adopt.ts',
        find: 'case when $1::boolean then outbox.clock() else holds_since end',
        replace: 'case when $1::boolean then holds_since else holds_since end',
      },
    },
    'test/integration/temporal/repeating-verify.test.ts': {
      'stray-schedule-unnoticed': {
        file: 'src/temporal/relay/repeater.ts',
        find: `differences.set(name, 'extra');`,
        replace: 'differences.delete(name);',
      },
      'fresh-schedule-judged': {
        file: 'src/operations/verify/schedules.ts',
        find: '|| after?.settled === false',
      },
    },
    'test/integration/temporal/repeating.test.ts': {
      'schedule-always-differs': {
        file: 'src/temporal/relay/repeater.ts',
        find: '${offset ?? 0}',
        replace: '${offset}',
      },
      'schedule-drift-kept': {
        file: 'src/temporal/relay/repeater.ts',
        find: 'state.paused === made.state.paused',
        replace: 'state.note !== made.spec.timezone',
      },
    },
    'test/integration/sending/schedule-rule.test.ts': {
      'time-of-a-former-rule-written': {
        file: 'src/store/schedule/write-due.ts',
        find: '|| !isOfRule(due, at)',
      },
      'time-before-its-rule-written': {
        file: 'src/store/schedule/write-due.ts',
        find: 'due.early ||',
      },
    },
    'test/integration/temporal/repeating-missed.test.ts': {
      'missed-times-not-repeated': {
        file: 'src/temporal/relay/repeater.ts',
        find: 'if (!wanted.paused) await repeat(handle, missed, info);',
      },
      'schedule-dropped-by-a-late-relay': {
        file: 'src/relay/schedules.ts',
        find: 'await followAgain(database, name);',
      },
    },
    'test/unit/core/cron.test.ts': {
      'cron-line-that-never-occurs': {
        file: 'src/core/cron.ts',
        find: 'first <= (daysOfMonths[month - 1] ?? 0)',
        replace: 'first <= month + 31',
      },
    },
  },
  'set-back-clock-stops-no-bulk': {
    'test/contract/bulk-clock.test.ts': {
      'bulk-waits-for-an-earlier-clock': {
        file: 'src/store/bulk/page.ts',
        find: 'then b.next_page_at else clock_timestamp() end`',
        replace: 'then b.next_page_at else b.next_page_at end`',
      },
      'patience-by-an-earlier-clock': {
        file: 'src/store/bulk/page.ts',
        find: 'least(b.pending_since, clock_timestamp())',
        replace: 'coalesce(b.pending_since, clock_timestamp())',
      },
      'bulk-start-waits-for-an-earlier-clock': {
        file: 'src/store/bulk/starts.ts',
        find: 'not outbox.lately(b.told_at, $1::float8) and not outbox.lately(b.updated_at, $1::float8)',
        replace: `greatest(b.told_at, b.updated_at) < clock_timestamp() - $1::float8 * interval '1 ms'`,
      },
    },
  },
  'set-back-clock-silences-nothing': {
    'test/unit/watch/outage-teller.test.ts': {
      'silence-by-the-clock-of-the-host': {
        file: 'src/app/relay/last-silence.ts',
        find: `this.#untilMs = askedAt + leftMs;
  }

  lasts(): boolean {
    return performance.now()`,
        replace: `this.#untilMs = Date.now() + leftMs;
  }

  lasts(): boolean {
    return Date.now()`,
      },
    },
    'test/integration/operations/figures.test.ts': {
      'time-far-ahead-counts-as-now': {
        file: 'outbox.lately()',
        find: `and p_at <= clock_timestamp() + p_ms * interval '1 ms'`,
        title: 'a clock that was set back by an hour stops no reading, and makes no figures fresh',
      },
      'figures-wait-for-an-earlier-clock': {
        file: 'src/store/figures/figures-look.ts',
        find: 'where not outbox.lately(f.began_at, $1::float8)',
        replace: `where f.began_at <= clock_timestamp() - $1::float8 * interval '1 ms'`,
        title: 'a clock that was set back by an hour stops no reading, and makes no figures fresh',
      },
      'figures-of-an-earlier-clock-are-fresh': {
        file: 'src/store/figures/figures-look.ts',
        find: '(abs(extract(epoch from clock_timestamp() - noted_at)) * 1000)',
        replace: '(extract(epoch from clock_timestamp() - noted_at) * 1000)',
        title: 'a clock that was set back by an hour stops no reading, and makes no figures fresh',
      },
    },
    'test/integration/alerts/over.test.ts': {
      'news-wait-for-an-earlier-clock': {
        file: 'src/store/alerts/alerts.ts',
        find: 'abs(extract(epoch from outbox.clock() - a.news_at) * 1000)',
        replace: 'extract(epoch from outbox.clock() - a.news_at) * 1000',
        title: 'what goes on is told again although the clock was set back by two hours',
      },
      'lease-of-an-earlier-clock-lasts': {
        file: 'src/store/alerts/destinations.ts',
        find: '2 * greatest($2::float8,',
        replace: '20 * greatest($2::float8,',
      },
      'rest-of-a-destination-counts-as-wrong': {
        file: 'src/store/alerts/destinations.ts',
        find: '2 * greatest($2::float8, ${longestRestMs})',
        replace: '2 * $2::float8',
      },
      'told-by-an-earlier-clock-rests': {
        file: 'src/store/alerts/destinations.ts',
        find: 'outbox.lately(d.told_at, $3::float8) is not true',
        replace: `(d.told_at is null or d.told_at <= clock_timestamp() - $3::float8 * interval '1 ms')`,
      },
    },
    'test/integration/kafka/stalled-groups.test.ts': {
      'looks-wait-for-an-earlier-clock': {
        file: 'src/store/installation/standing-groups.ts',
        find: 'where not outbox.lately(l.began_at, $3::float8)',
        replace: `where l.began_at <= clock_timestamp() - $3::float8 * interval '1 ms'`,
        title: 'a group that stands is told although the clock was set back by an hour',
      },
    },
    'test/unit/relay/standing-places.test.ts': {
      'stall-begins-by-an-earlier-clock': {
        file: 'src/relay/standing-places.ts',
        find: 'Math.min(known.sinceMs, endedMs)',
        replace: 'known.sinceMs',
      },
    },
    'test/integration/lanes/announced.test.ts': {
      'change-waits-for-an-earlier-clock': {
        file: 'src/store/lane/topics.ts',
        find: `not outbox.lately(begun_at, case kind when 'lanes' then $3::integer else $4::integer end)`,
        replace: `begun_at < clock_timestamp() - case kind when 'lanes' then $3::integer else $4::integer end * interval '1 ms'`,
      },
    },
  },
  'tests-skip-time': {
    'test/integration/inbox/memory-broker.test.ts': {
      'skipped-time-does-not-add-up': {
        file: 'src/store/installation/skip-clock.ts',
        find: 'outbox.clock() - now() +',
      },
    },
    'test/unit/testing/memory-broker.test.ts': {
      'memory-broker-delivers-nothing': {
        file: 'src/testing/memory-broker.ts',
        find: 'const [stored] = arriving.append(address,',
        replace: 'const [stored] = memorySource(options).append(address,',
      },
    },
  },
};
