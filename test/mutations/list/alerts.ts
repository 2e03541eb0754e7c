import type { Mutation } from '../mutation.ts';

const promise = 'Alerts are told once';
const told = 'test/integration/alerts/told.test.ts';

export const alertMutations: readonly Mutation[] = [
  {
    name: 'alert-is-told-at-every-look',
    promise,
    file: 'src/store/alerts/alerts.ts',
    find: 'where coalesce((a.told ->> $1)::bigint, 0) < a.news',
    replace: 'where a.news > 0',
    test: told,
    title: 'with two relays, a webhook and a mail server get exactly one alert',
  },
  {
    name: 'silenced-rule-tells',
    promise,
    file: 'src/store/alerts/alerts.ts',
    find: `
       and not exists (select from outbox.alert_silence s where s.rule = a.rule and s.until > outbox.clock())
     order by`,
    replace: '\n     order by',
    test: told,
    title: 'a rule that is silenced tells nobody',
  },
  {
    name: 'alert-fires-at-its-threshold',
    promise,
    file: 'src/alerts/rules.ts',
    find: 'figure < threshold : figure > threshold',
    replace: 'figure < threshold : figure >= threshold',
    test: 'test/unit/alerts/rules.test.ts',
    title: 'fires beyond its default threshold',
  },
  {
    name: 'each-relay-reads-figures',
    promise,
    file: 'src/store/figures/figures-look.ts',
    find: "where f.began_at <= clock_timestamp() - $1::float8 * interval '1 ms'",
    replace: 'where $1::float8 > 0',
    test: 'test/integration/operations/figures.test.ts',
    title: 'one relay of two reads the figures of an interval',
  },
  {
    name: 'relay-judges-no-figures',
    promise,
    file: 'src/app/relay/deliver.ts',
    find: '  alerts?.start();\n',
    replace: '',
    test: 'test/integration/alerts/outage.test.ts',
    title: 'an outage of Temporal is told once by two relays',
  },
  {
    name: 'alerts-watch-no-groups',
    promise,
    file: 'src/app/relay/stalled.ts',
    find: ' && alerts === undefined',
    replace: '',
    test: 'test/unit/app/stalled.test.ts',
    title: 'watches groups',
  },
];
