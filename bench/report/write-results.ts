import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DrainRow, LateRow } from '../compare.ts';
import { root } from '../contenders/contenders.ts';
import { growing } from '../growth.ts';
import type { Figures } from '../measure.ts';
import { type Bar, barChart, type Chart } from './bar-chart.ts';
import type { Surroundings } from './surroundings.ts';
import { tables } from './tables.ts';

/** Writes `bench/results/<name>.json`, a page with tables, and a chart for each kind of figure. @returns the page's file */
export function writeResults(name: string, figures: Figures, surroundings: Surroundings): string {
  const folder = join(root, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const write = (end: string, text: string): string => {
    const file = join(folder, `${name}${end}`);
    writeFileSync(file, text);
    return file;
  };
  write('.json', `${JSON.stringify({ ...surroundings, ...figures }, undefined, 2)}\n`);
  const { drains = [], due = [], growth = [], latency = [] } = figures;
  const charts: Record<string, Chart> = {
    drain: { title: 'Outbox to Kafka', unit: 'messages/s', bars: drains.map(drainBar) },
    processor: {
      title: 'Processor time of node for a message',
      unit: 'µs',
      bars: drains.map((row) => ({ ...drainBar(row), ...spreadOf(row, 'nodeUsPerMessage') })),
    },
    latency: {
      title: 'From commit to Kafka',
      unit: 'ms',
      bars: latency.flatMap((row) => lateBars(row, `${row.label}, ${row.perSecond}/s`)),
    },
    due: {
      title: 'Lateness of messages due at one instant',
      unit: 'ms',
      bars: due.flatMap((row) => lateBars(row, row.label)),
    },
  };
  for (const of of growing) {
    const rows = growth.filter((row) => row.of === of);
    charts[`growth-${of.replaceAll(' ', '-')}`] = {
      title: `Processor time of node for a message, by ${of}`,
      unit: 'µs',
      bars: rows.map((row) => ({ label: String(row.at), value: row.nodeUsPerMessage, ours: true })),
    };
  }
  const drawn = Object.entries(charts).filter(([, { bars }]) => bars.length > 0);
  for (const [kind, chart] of drawn) write(`-${kind}.svg`, barChart(chart));
  const images = drawn.map(([kind, { title }]) => `![${title}](${name}-${kind}.svg)`);
  return write('.md', `${tables(figures, surroundings)}\n${images.join('\n\n')}\n`);
}

function drainBar(row: DrainRow): Bar {
  return {
    label: `${row.label}${row.node === 'own' ? ', older Node' : ''}`,
    ours: row.name === 'ours',
    ...spreadOf(row, 'perSecond'),
  };
}

function spreadOf(
  row: DrainRow,
  what: 'perSecond' | 'nodeUsPerMessage',
): Pick<Required<Bar>, 'value' | 'from' | 'to'> {
  const { highest, lowest, median } = row[what];
  return { value: median, from: lowest, to: highest };
}

/** Two bars, so that neither hides the other. */
function lateBars({ ms, name }: LateRow, label: string): readonly Bar[] {
  const ours = name === 'ours';
  return [
    { label: `${label}, p50`, value: ms.p50, ours },
    { label: `${label}, p99`, value: ms.p99, ours },
  ];
}
