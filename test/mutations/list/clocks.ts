import type { Mutation } from '../mutation.ts';

const promise = 'set-back-clock-silences-nothing';
const figures = 'test/integration/operations/figures.test.ts';
const readings = 'a clock that was set back by an hour stops no reading, and makes no figures fresh';
const destinations = 'test/integration/alerts/destinations.test.ts';

/** A time that was written while the clock was ahead is taken for one that is yet to come. */
export const clockMutations: readonly Mutation[] = [
  {
    name: 'silence-by-the-clock-of-the-host',
    promise,
    file: 'src/app/relay/last-silence.ts',
    find: `this.#untilMs = askedAt + leftMs;
  }

  lasts(): boolean {
    return performance.now()`,
    replace: `this.#untilMs = Date.now() + leftMs;
  }

  lasts(): boolean {
    return Date.now()`,
    test: 'test/unit/alerts/outage-teller.test.ts',
    title: 'a silence lasts as long as the database said',
  },
  {
    name: 'time-far-ahead-counts-as-now',
    promise,
    file: 'outbox.lately()',
    find: " and p_at <= clock_timestamp() + p_ms * interval '1 ms'",
    replace: '',
    test: figures,
    title: readings,
  },
  {
    name: 'time-just-ahead-counts-as-long-ago',
    promise,
    file: 'outbox.lately()',
    find: "p_at <= clock_timestamp() + p_ms * interval '1 ms'",
    replace: 'p_at <= clock_timestamp()',
    test: figures,
    title: readings,
  },
  {
    name: 'figures-wait-for-an-earlier-clock',
    promise,
    file: 'src/store/figures/figures-look.ts',
    find: 'where not outbox.lately(f.began_at, $1::float8)',
    replace: "where f.began_at <= clock_timestamp() - $1::float8 * interval '1 ms'",
    test: figures,
    title: readings,
  },
  {
    name: 'figures-of-an-earlier-clock-are-fresh',
    promise,
    file: 'src/store/figures/figures-look.ts',
    find: '(abs(extract(epoch from clock_timestamp() - noted_at)) * 1000)',
    replace: '(extract(epoch from clock_timestamp() - noted_at) * 1000)',
    test: figures,
    title: readings,
  },
  {
    name: 'lease-of-an-earlier-clock-lasts',
    promise,
    file: 'src/store/alerts/destinations.ts',
    find: '2 * greatest($2::float8,',
    replace: '20 * greatest($2::float8,',
    test: destinations,
    title: 'a lease from before the clock was set back by an hour is over',
  },
  {
    name: 'rest-of-a-destination-counts-as-wrong',
    promise,
    file: 'src/store/alerts/destinations.ts',
    find: '2 * greatest($2::float8, ${longestRestMs})',
    replace: '2 * $2::float8',
    test: destinations,
    title: 'a destination that has failed often rests for five minutes, whatever the lease',
  },
  {
    name: 'told-by-an-earlier-clock-rests',
    promise,
    file: 'src/store/alerts/destinations.ts',
    find: 'outbox.lately(d.told_at, $3::float8) is not true',
    replace: "(d.told_at is null or d.told_at <= clock_timestamp() - $3::float8 * interval '1 ms')",
    test: destinations,
    title: 'a destination that was told before the clock was set back by an hour is told at once',
  },
  {
    name: 'news-wait-for-an-earlier-clock',
    promise,
    file: 'src/store/alerts/alerts.ts',
    find: 'abs(extract(epoch from outbox.clock() - a.news_at) * 1000)',
    replace: 'extract(epoch from outbox.clock() - a.news_at) * 1000',
    test: 'test/integration/alerts/over.test.ts',
    title: 'what goes on is told again although the clock was set back by two hours',
  },
  {
    name: 'looks-wait-for-an-earlier-clock',
    promise,
    file: 'src/store/installation/standing-groups.ts',
    find: 'where not outbox.lately(l.began_at, $3::float8)',
    replace: "where l.began_at <= clock_timestamp() - $3::float8 * interval '1 ms'",
    test: 'test/integration/kafka/stalled-groups.test.ts',
    title: 'a group that stands is told although the clock was set back by an hour',
  },
  {
    name: 'stall-begins-by-an-earlier-clock',
    promise,
    file: 'src/relay/judge-standing.ts',
    find: 'Math.min(known.sinceMs, endedMs)',
    replace: 'known.sinceMs',
    test: 'test/unit/relay/judge-standing.test.ts',
    title: 'a group that stands since a time in the future stands since now: the clock was set back',
  },
  {
    name: 'change-waits-for-an-earlier-clock',
    promise,
    file: 'src/store/lane/topics.ts',
    find: "not outbox.lately(begun_at, case kind when 'lanes' then $3::integer else $4::integer end)",
    replace:
      "begun_at < clock_timestamp() - case kind when 'lanes' then $3::integer else $4::integer end * interval '1 ms'",
    test: 'test/integration/lanes/announced.test.ts',
    title: 'a change that its operator has left is completed although the clock was set back by an hour',
  },
];
