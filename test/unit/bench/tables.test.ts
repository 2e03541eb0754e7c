import { expect, test } from 'vitest';
import type { Figures } from '../../../bench/measure.ts';
import { tables } from '../../../bench/report/tables.ts';

const surroundings = {
  measuredAt: '2026-11-23T06:00:00.000Z',
  machine: { processors: 2, model: 'AMD EPYC', memoryGb: 24, system: 'linux' },
  versions: { node: '24.21.0' },
};
const page = (figures: Figures): readonly string[] => tables(figures, surroundings).split('\n');
const headings = (figures: Figures): readonly string[] =>
  page(figures).filter((line) => line.startsWith('## '));

const commit = {
  beside: 800,
  alone: 1_000,
  dead: 3,
  messages: 70_000,
  wal: { ours: { stored: 800, delivered: 1 }, pgBoss: { stored: 700, delivered: 1_300 } },
};
const memory = {
  messages: 100_000,
  atStart: { rssMb: 200, heapMb: 40 },
  waiting: { rssMb: 201, heapMb: 41 },
  drainingFirst: { rssMb: 202, heapMb: 42 },
  drainingLater: { rssMb: 203, heapMb: 43 },
  others: {
    consumed: 60_000,
    requests: 600,
    consumer: { atStart: { rssMb: 204, heapMb: 44 }, working: { rssMb: 205, heapMb: 45 } },
    api: { atStart: { rssMb: 206, heapMb: 46 }, working: { rssMb: 207, heapMb: 47 } },
  },
};

test('a part that was not measured has no heading', () => {
  expect(headings({})).toEqual([]);
  expect(headings({ commit, memory })).toEqual(['## Committing beside a relay', '## Memory']);
});

test('commits with a relay are divided by those without, and the log of a message is summed', () => {
  const lines = page({ commit });
  expect(lines).toContain('| commits/s by 16 connections | 800 | 1000 | 0.80 |');
  expect(lines).toContain('| temporal-outbox | 800 | 1 | 801 |');
  expect(lines).toContain('| pg-boss | 700 | 1300 | 2000 |');
  expect(lines).toContain('Dead row versions of 70000 messages: 3.');
});

test('memory is that of a relay, a consumer and the HTTP API, at rest and at work', () => {
  const lines = page({ memory });
  expect(lines).toContain('| the rest drains | 203 | 43 |');
  expect(lines).toContain('| it handles 60000 messages in batches | 205 | 45 |');
  expect(lines).toContain('| it answers 600 requests, 8 at once | 207 | 47 |');
});

test('messages with workflows of their own are divided by bare workflows', () => {
  const workflows = {
    count: 200,
    ours: { started: 132, ended: 26, whole: 21 },
    bare: { started: 200, ended: 40, whole: 30 },
  };
  expect(page({ workflows })).toContain('| both, without the sleep | 21 | 30 | 0.70 |');
});

test('claims show both ratios, without and with a reader', () => {
  const row = { name: 'log', backlog: 10_000, leaves: 2, log: 1_000_000, history: 0 };
  const size = [
    { ...row, quietMs: 11, pinnedMs: 14, oneMs: 2, quietRatio: 1.1, pinnedRatio: 1.4, oneRatio: 1.2 },
  ];
  expect(page({ size })).toContain('| 10000 | 2 | 1000000 | 0 | 11 | 1.1 | 14 | 1.4 | 2 | 1.2 |');
});

test('a drain is compared with ours, and names its setting and its rounds', () => {
  const row = (name: 'ours' | 'pgBoss', median: number) => ({
    name,
    label: name,
    setting: { lanes: 2 },
    node: 'newer' as const,
    messages: 1_000,
    perSecond: { median, lowest: median - 1, highest: median + 1, rounds: [median] },
    nodeUsPerMessage: { median: 6, lowest: 6, highest: 6, rounds: [6] },
    serverUsPerMessage: { postgres: 5, redis: 0.04 },
  });
  const drain = { ours: 900, bare: 0, loop: 0, pgBoss: 300, graphileWorker: 0, bullmq: 0 };
  const lines = page({ drain, drains: [row('ours', 900), row('pgBoss', 300)], swept: [] });
  expect(lines).toContain('| pgBoss, lanes 2 | 300 | 299 to 301 | 3.00 times | 6 | postgres 5 |');
});
