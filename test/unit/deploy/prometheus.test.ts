import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { prometheusName } from '../../../src/telemetry/metric.ts';
import { alertRules } from '../../../src/watch/figures.ts';
import { metrics } from '../../../src/watch/metrics.ts';
import { prometheusAlert, prometheusRules } from '../../../src/watch/prometheus-rules.ts';
import { prometheusFile } from '../../../tools/prometheus-rules.mjs';
import { deployPath, deployText, yamlOf } from './deploy-files.ts';

/** What relays, consumers and senders export, without the suffixes of histograms. */
const exported = new Set(metrics.map(prometheusName));

const ruleFile = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          for: z.string(),
          labels: z.object({ severity: z.enum(['critical', 'warning']) }),
          annotations: z.object({
            summary: z.string(),
            run: z.string().regex(/^(?:\{\{ if [^}]+\}\})?temporal-outbox /),
            runbook_url: z.string().startsWith('docs/runbook.md#'),
          }),
        }),
      ),
    }),
  ),
});
const testFile = z.object({
  tests: z.array(
    z.object({
      name: z.string(),
      promql_expr_test: z.array(z.object({ expr: z.string(), exp_samples: z.array(z.unknown()) })),
    }),
  ),
});
const dashboard = z.object({
  panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })) })),
});

const rules = ruleFile.parse(yamlOf('prometheus/rules.yaml')[0]).groups.flatMap((group) => group.rules);

/** The metrics in an expression. */
function metricsIn(expression: string): readonly string[] {
  const names = expression.replaceAll(/by \([^)]*\)|"[^"]*"/g, '').match(/\b(?:outbox|messaging)_\w+/g) ?? [];
  return names.map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
}

test('each Prometheus rule fires after its time, and is over when its cause is', () => {
  const answer = execFileSync('promtool', ['test', 'rules', deployPath('prometheus/rules.test.yaml')], {
    encoding: 'utf8',
  });
  expect(answer).toContain('SUCCESS');
});

test('each Prometheus rule has a test in which it is silent, fires, and is silent again', () => {
  const tests = testFile.parse(yamlOf('prometheus/rules.test.yaml')[0]).tests;
  expect(tests.map(({ name }) => name)).toEqual(rules.map(({ alert }) => alert));
  for (const { name, promql_expr_test: steps } of tests) {
    expect(new Set(steps.map(({ expr }) => expr))).toEqual(
      new Set([`count(ALERTS{alertname="${name}", alertstate="firing"})`]),
    );
    const [before, ...others] = steps.map(({ exp_samples: samples }) => samples.length);
    expect([before, others.pop()]).toEqual([0, 0]);
    expect(new Set(others)).toEqual(new Set([1]));
  }
});

test('each Prometheus rule is of one installation, whatever others report to the same Prometheus', () => {
  const whole = rules.filter(({ expr }) => /\b(?:max|min|sum)\s*\(/.test(expr) || !expr.includes('by (job'));
  expect(whole.map(({ alert }) => alert)).toEqual([]);
});

test('the rules of Prometheus are made of those of relays, and have their thresholds', () => {
  expect(deployText('prometheus/rules.yaml')).toBe(prometheusFile(prometheusRules()));
  const alerts = new Set(rules.map(({ alert }) => alert));
  expect(Object.keys(alertRules).filter((name) => !alerts.has(prometheusAlert(name)))).toEqual([]);
  expect(rules.find(({ alert }) => alert === 'OutboxOldestDue')).toMatchObject({
    expr: 'max by (job, topic) (outbox_oldest_due_age_seconds) > 60',
    annotations: {
      summary:
        'The oldest due message of topic {{ $labels.topic }} has waited for {{ $value | humanizeDuration }}.',
    },
  });
  // Over as long as its sentence says.
  const { annotations, expr } = rules.find(({ alert }) => alert === 'OutboxSuccessRate') ?? {};
  expect(annotations?.summary).toContain('of the last ten minutes');
  expect(new Set(expr?.match(/\[\w+\]/g))).toEqual(new Set(['[10m]']));
  expect(rules.find(({ alert }) => alert === 'OutboxFailed')?.annotations).toMatchObject({
    summary:
      '{{ $value }} messages of {{ if $labels.group }}group {{ $labels.group }}{{ else }}topic {{ $labels.topic }}{{ end }} failed and wait for a person.',
    run: '{{ if $labels.group }}temporal-outbox inbox list --group <name> --state failed{{ else }}temporal-outbox list --topic <name> --state failed{{ end }}',
  });
});

test('rules and dashboard use only metrics that are exported, and the dashboard shows each of them', () => {
  const shown = dashboard
    .parse(JSON.parse(deployText('grafana/dashboard.json')))
    .panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)));
  const used = [...rules.flatMap(({ expr }) => metricsIn(expr)), ...shown];
  expect(used.filter((name) => !exported.has(name))).toEqual([]);
  expect(rules.map(({ expr }) => metricsIn(expr).length)).not.toContain(0);
  expect([...exported].filter((name) => !shown.includes(name))).toEqual([]);
});

test('the dashboard adds up what each relay counts of its own', {
  tags: ['metrics-say-what-happened'],
}, () => {
  const own = new Set(metrics.filter(({ kind }) => kind === 'level').map(prometheusName));
  const shown = dashboard
    .parse(JSON.parse(deployText('grafana/dashboard.json')))
    .panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    .filter((expr) => metricsIn(expr).some((name) => own.has(name)));
  expect(shown.length).toBeGreaterThanOrEqual(own.size);
  expect(shown.filter((expr) => !/^sum(?: by \([^)]*\))? ?\(/.test(expr))).toEqual([]);
});

test('Prometheus accepts the configuration in the file of compose', () => {
  const { configs } = z
    .object({ configs: z.object({ prometheus: z.object({ content: z.string() }) }) })
    .parse(parse(deployText('compose.yaml'), { merge: true }));
  const { content } = configs.prometheus;
  const inContainer = '/etc/prometheus/rules.yaml';
  expect(content).toContain(inContainer);
  const folder = mkdtempSync(join(tmpdir(), 'outbox-prometheus-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, content.replace(inContainer, deployPath('prometheus/rules.yaml')));
  const checked = spawnSync('promtool', ['check', 'config', file], { encoding: 'utf8' });
  expect(checked).toMatchObject({ status: 0, stderr: '' });
  expect(checked.stdout).toContain('1 rule files found');
});
