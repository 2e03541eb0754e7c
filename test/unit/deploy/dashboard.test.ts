import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { type Metric, prometheusName } from '../../../src/telemetry/metric.ts';
import { alertRules } from '../../../src/watch/figures.ts';
import { metrics } from '../../../src/watch/metrics.ts';
import { inMetric } from '../../../src/watch/units.ts';
import { dashboardOf } from '../../../tools/dashboard.mjs';
import { deployText } from './deploy-files.ts';

const grid = z.object({ h: z.number(), w: z.number(), x: z.number(), y: z.number() });
const { panels, templating } = z
  .object({
    templating: z.object({ list: z.array(z.object({ name: z.string(), allValue: z.string().optional() })) }),
    panels: z.array(
      z.object({
        id: z.number(),
        type: z.enum(['stat', 'timeseries']),
        title: z.string(),
        description: z.string(),
        gridPos: grid,
        targets: z.array(z.object({ expr: z.string() })).min(1),
      }),
    ),
  })
  .parse(JSON.parse(deployText('grafana/dashboard.json')));

const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
const stats = panels.filter(({ type }) => type === 'stat');

/** Of a name and the suffixes of histograms, and of no other name that begins with it. */
const shows = (expr: string, name: string): boolean =>
  new RegExp(String.raw`\b${name}(?:_bucket|_sum|_count)?\b(?!_)`).test(expr);

const thresholdOf = (name: string): number => {
  const rule = Object.entries(alertRules).find(([one]) => one === name)?.[1];
  return rule === undefined ? Number.NaN : inMetric(rule.unit, rule.threshold);
};

test('the dashboard is made of metrics and rules, and a metric without a panel gets one', () => {
  const written = deployText('grafana/dashboard.json');
  expect(written).toBe(`${JSON.stringify(dashboardOf({ metrics, prometheusName, thresholdOf }), null, 2)}\n`);
  const added: Metric = {
    name: 'outbox.added',
    kind: 'counter',
    unit: '{thing}',
    meaning: 'What was added.',
    attributes: ['topic'],
  };
  const more = dashboardOf({ metrics: [...metrics, added], prometheusName, thresholdOf });
  expect(JSON.stringify(more)).toContain(
    JSON.stringify('sum by (topic) (rate(outbox_added_total{job=~"$job"}[$__rate_interval]))'),
  );
});

test('each panel of the dashboard says what its metrics mean, and what to do when they are too high', () => {
  for (const { description, targets, title } of panels) {
    const shown = metrics.filter((metric) => targets.some(({ expr }) => shows(expr, prometheusName(metric))));
    expect(shown, title).not.toEqual([]);
    for (const { meaning, watch } of shown) {
      expect(description, title).toContain(meaning);
      if (watch !== undefined) expect(description, title).toContain(`When ${watch.when}: ${watch.todo}`);
    }
  }
});

test('the dashboard begins with what is wrong now, and tells why attempts, handlers and relays fail', () => {
  const [first] = stats;
  expect(first?.title).toBe('Relays');
  expect(panels.slice(0, stats.length)).toEqual(stats);
  for (const name of ['outbox_relays', 'outbox_server_up', 'outbox_oldest_due_age_seconds'])
    expect(stats.filter(({ targets }) => targets.some(({ expr }) => shows(expr, name)))).toHaveLength(1);

  const reasons = expressions.filter((expr) => /by \([^)]*\berror_type\b/.test(expr));
  for (const metric of metrics) {
    const name = prometheusName(metric);
    if (metric.kind !== 'counter' || !metric.attributes.includes('error.type')) continue;
    expect(
      reasons.some((expr) => shows(expr, name)),
      name,
    ).toBe(true);
  }
});

test('the dashboard can show the jobs of one installation alone, and shows all at first', () => {
  expect(templating.list).toContainEqual({ name: 'job', allValue: '.*' });
  const selectors = expressions.flatMap((expr) => [
    ...expr.replaceAll(/by \([^)]*\)/g, '').matchAll(/\b(?:outbox|messaging)_\w+(?<labels>\{[^}]*\})?/g),
  ]);
  expect(selectors.length).toBeGreaterThanOrEqual(expressions.length);
  expect(selectors.filter(({ groups }) => groups?.['labels']?.includes('job=~"$job"') !== true)).toEqual([]);
});

test('no two panels of the dashboard cover each other', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
    Array.from({ length: h * w }, (_, n) => `${x + (n % w)}:${y + Math.floor(n / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(Math.max(...panels.map(({ gridPos: { w, x } }) => x + w))).toBe(24);
});

test('Prometheus can evaluate every expression of the dashboard', () => {
  const folder = mkdtempSync(join(tmpdir(), 'outbox-dashboard-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const check = (some: readonly string[]) => {
    const rules = some.map((expr, n) => ({
      record: `panel:${n}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    const file = join(folder, 'rules.yaml');
    writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
    return spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
  };
  expect(check(expressions)).toMatchObject({ status: 0, stderr: '' });
  expect(check(['sum(rate(outbox_messages_failed_total))']).status).not.toBe(0);
});
