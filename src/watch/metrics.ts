import { capitalized } from '../core/capitalized.ts';
import { countedMetrics } from '../telemetry/counted-metrics.ts';
import type { Metric } from '../telemetry/metric.ts';
import { commandsOf } from './commands.ts';
import type { AlertRule, ExportedFigure } from './figure.ts';
import { exportedFigures } from './figures.ts';
import { inUnit, metricUnit } from './units.ts';

/** The metric of a figure. Every relay exports it with the same values. */
export function metricOf(name: string, figure: ExportedFigure): Metric {
  const { meaning, metric, of, unit } = figure;
  const watch = metric.watch ?? (isRule(figure) ? watchOf(name, figure) : undefined);
  return {
    name: metric.name,
    kind: 'gauge',
    unit: metricUnit(unit),
    meaning: `${capitalized(metric.meaning ?? meaning)}.`,
    attributes: metric.by ?? of.flat(),
    ...(watch !== undefined && { watch }),
  };
}

/** All metrics of the product: those that are counted where something happens, and those of figures. */
export const metrics: readonly Metric[] = [
  ...Object.values<Metric>(countedMetrics),
  ...Object.entries(exportedFigures).map(([name, figure]) => metricOf(name, figure)),
];

function isRule(figure: ExportedFigure): figure is AlertRule & ExportedFigure {
  return 'threshold' in figure;
}

/** When to look: beyond the threshold of its rule. */
function watchOf(name: string, rule: AlertRule): Metric['watch'] {
  const { below = false, threshold, unit } = rule;
  const commands = commandsOf(rule).map((command) => `\`${command}\``);
  return {
    when: `${below ? 'below' : 'above'} ${inUnit(unit, threshold)}`,
    todo: `${commands.join(', ')}, and what the runbook says of \`${name}\`.`,
  };
}
