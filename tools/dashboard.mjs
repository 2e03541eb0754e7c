/** Generates deploy/grafana/dashboard.json from src/watch, src/telemetry and the table of panels. */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { numbers, panels } from './dashboard-panels.mjs';

const datasource = { type: 'prometheus', uid: '${datasource}' };
const onlyJob = 'job=~"$job"';

/** Of the jobs that are chosen, over the interval of the panel. */
function expressionOf(written) {
  return written
    .replaceAll('[*]', '[$__rate_interval]')
    .replaceAll(/(by \([^)]*\))|\b((?:outbox|messaging)_\w+)(?:\{([^}]*)\})?/g, (all, by, metric, labels) => {
      if (by !== undefined) return all;
      return `${metric}{${labels === undefined ? '' : `${labels}, `}${onlyJob}}`;
    });
}

/** Whether the expression shows the metric of this name, or a part of a histogram of it. */
function shows(written, name) {
  return new RegExp(String.raw`\b${name}(?:_bucket|_sum|_count)?\b(?!_)`).test(written);
}

function descriptionOf({ show }, metrics, prometheusName) {
  const shown = metrics.filter((metric) => show.some(([written]) => shows(written, prometheusName(metric))));
  return shown
    .map(({ meaning, watch }) =>
      watch === undefined ? meaning : `${meaning} When ${watch.when}: ${watch.todo}`,
    )
    .join('\n\n');
}

/** What no panel of the table shows. */
function ownPanel(metric, prometheusName) {
  const name = prometheusName(metric);
  const by = metric.attributes.map((label) => label.replaceAll('.', '_'));
  const of = by.length === 0 ? '' : ` by (${by.join(', ')})`;
  const written = {
    gauge: `max${of} (${name})`,
    level: `sum${of} (${name})`,
    counter: `sum${of} (rate(${name}[*]))`,
    histogram: `histogram_quantile(0.99, sum by (${['le', ...by].join(', ')}) (rate(${name}_bucket[*])))`,
  }[metric.kind];
  return {
    title: metric.meaning.replace(/\.$/, ''),
    unit: metric.unit === 's' ? 's' : 'short',
    show: [[written, by.map((label) => `{{${label}}}`).join(' ')]],
  };
}

function stepsOf({ below, from: bound, rule }, thresholdOf) {
  const from = rule === undefined ? bound : thresholdOf(rule);
  return from === undefined
    ? [
        { color: 'red', value: null },
        { color: 'green', value: below },
      ]
    : [
        { color: 'green', value: null },
        { color: 'red', value: from },
      ];
}

/**
 * The dashboard of Grafana for these metrics.
 *
 * @param thresholdOf the threshold of a rule, in the unit of its metric
 */
export function dashboardOf({ metrics, prometheusName, thresholdOf }) {
  const unseen = metrics.filter((metric) => {
    const name = prometheusName(metric);
    return ![...numbers, ...panels].some(({ show }) => show.some(([written]) => shows(written, name)));
  });
  const graphs = [...panels, ...unseen.map((metric) => ownPanel(metric, prometheusName))];
  const drawn = (panel, id, type, gridPos) => ({
    id,
    title: panel.title,
    description: descriptionOf(panel, metrics, prometheusName),
    type,
    datasource,
    gridPos,
    fieldConfig: {
      defaults: {
        unit: panel.unit,
        ...(panel.red && { thresholds: { mode: 'absolute', steps: stepsOf(panel.red, thresholdOf) } }),
      },
      overrides: [],
    },
    targets: panel.show.map(([written, legendFormat], n) => ({
      refId: String.fromCodePoint(65 + n),
      expr: expressionOf(written),
      legendFormat,
    })),
  });
  return {
    title: 'temporal-outbox',
    uid: 'temporal-outbox',
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    tags: ['temporal-outbox'],
    templating: { list: [datasourceChoice, jobChoice] },
    annotations: { list: [firing] },
    panels: [
      ...numbers.map((panel, n) => drawn(panel, n + 1, 'stat', { h: 4, w: 4, x: 4 * n, y: 0 })),
      ...graphs.map((panel, n) =>
        drawn(panel, numbers.length + n + 1, 'timeseries', {
          h: 7,
          w: 8,
          x: 8 * (n % 3),
          y: 4 + 7 * Math.floor(n / 3),
        }),
      ),
    ],
  };
}

const datasourceChoice = {
  name: 'datasource',
  type: 'datasource',
  query: 'prometheus',
  label: 'Prometheus',
};

const jobChoice = {
  name: 'job',
  type: 'query',
  label: 'Jobs of an installation',
  datasource,
  query: { query: 'label_values({__name__=~"outbox_.+|messaging_.+"}, job)', refId: 'jobs' },
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
};

const firing = {
  name: 'Alerts',
  datasource,
  enable: true,
  expr: `ALERTS{alertname=~"Outbox.*", alertstate="firing", ${onlyJob}}`,
  titleFormat: '{{alertname}}',
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { prometheusName } = await import('../dist/src/telemetry/metric.js');
  const { alertRules } = await import('../dist/src/watch/figures.js');
  const { metrics } = await import('../dist/src/watch/metrics.js');
  const { inMetric } = await import('../dist/src/watch/units.js');
  const thresholdOf = (name) => inMetric(alertRules[name].unit, alertRules[name].threshold);
  const dashboard = dashboardOf({ metrics, prometheusName, thresholdOf });
  writeFileSync(
    new URL('../deploy/grafana/dashboard.json', import.meta.url),
    `${JSON.stringify(dashboard, null, 2)}\n`,
  );
}
