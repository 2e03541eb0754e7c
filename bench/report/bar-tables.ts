import { type ActionFigures, actionKinds } from '../actions.ts';
import type { CommitFigures } from '../commit.ts';
import type { MemorySample } from '../contenders/protocol.ts';
import type { Figures } from '../measure.ts';
import type { MeteredFigures } from '../metered.ts';
import type { SizeRow } from '../size.ts';
import type { WorkflowFigures } from '../workflows.ts';
import { table } from './table.ts';

/** What a relay costs its surroundings: each part with its heading, those that were not measured left out. */
export function barTables({ actions, commit, memory, metered, size, workflows }: Figures): readonly string[] {
  return [
    ...(commit === undefined ? [] : ['', '## Committing beside a relay', '', ...commitTables(commit)]),
    ...(workflows === undefined ? [] : ['', '## Own workflows', '', ...workflowsTable(workflows)]),
    ...(actions === undefined ? [] : ['', '## Actions of Temporal', '', ...actionsTable(actions)]),
    ...(size === undefined ? [] : ['', '## Claim and settle', '', ...sizeTable(size)]),
    ...(memory === undefined ? [] : ['', '## Memory', '', ...memoryTable(memory)]),
    ...(metered === undefined ? [] : ['', '## With metrics', '', ...meteredTable(metered)]),
  ];
}

function meteredTable({ metered, meteredUs, plain, plainUs, sendNs }: MeteredFigures): readonly string[] {
  return [
    ...table(
      ['', 'with metrics', 'without', 'ratio'],
      [
        ['messages/s to Kafka', String(metered), String(plain), ratio(metered, plain)],
        ['µs of Node a message', String(meteredUs), String(plainUs), ratio(meteredUs, plainUs)],
      ],
    ),
    '',
    `A send takes ${sendNs} ns longer where no provider of metrics is set up.`,
  ];
}

function ratio(ours: number, theirs: number): string {
  return (ours / theirs).toFixed(2);
}

function commitTables({ alone, beside, dead, messages, wal }: CommitFigures): readonly string[] {
  const line = (name: string, { delivered, stored }: CommitFigures['wal']['ours']): string[] =>
    [name, stored, delivered, stored + delivered].map(String);
  return [
    ...table(
      ['', 'beside a relay', 'without one', 'ratio'],
      [['commits/s by 16 connections', String(beside), String(alone), ratio(beside, alone)]],
    ),
    '',
    ...table(
      ['bytes of WAL for a message', 'stored', 'delivered', 'together'],
      [line('temporal-outbox', wal.ours), line('pg-boss', wal.pgBoss)],
    ),
    '',
    `Dead row versions of ${messages} messages: ${dead}.`,
  ];
}

function workflowsTable({ bare, count, ours }: WorkflowFigures): readonly string[] {
  const line = (what: string, of: keyof WorkflowFigures['ours']): string[] => [
    what,
    String(ours[of]),
    String(bare[of]),
    ratio(ours[of], bare[of]),
  ];
  return table(
    [`${count} due together, a second`, 'messages', 'bare workflows', 'ratio'],
    [line('started', 'started'), line('ended', 'ended'), line('both, without the sleep', 'whole')],
  );
}

function actionsTable({ actions, messages, per1000, runs }: ActionFigures): readonly string[] {
  return [
    ...table(
      ['', 'actions'],
      actionKinds.map((kind) => [kind, String(actions[kind])]),
    ),
    '',
    `${per1000} for 1,000 of ${messages} messages, by the histories of ${runs} runs.`,
  ];
}

function sizeTable(rows: readonly SizeRow[]): readonly string[] {
  return table(
    [
      'ready',
      'in leaves',
      'in the log',
      'in the history',
      'ms',
      'ratio',
      'with a reader, ms',
      'ratio',
      'one message, ms',
      'ratio',
    ],
    rows.map(({ backlog, history, leaves, log, ...row }) =>
      [backlog, leaves, log, history]
        .concat(row.quietMs, row.quietRatio, row.pinnedMs, row.pinnedRatio, row.oneMs, row.oneRatio)
        .map(String),
    ),
  );
}

function memoryTable(figures: NonNullable<Figures['memory']>): readonly string[] {
  const { others } = figures;
  const line = (what: string, { heapMb, rssMb }: MemorySample): string[] => [
    what,
    String(rssMb),
    String(heapMb),
  ];
  return table(
    ['', 'held MB', 'live objects MB'],
    [
      line('a relay at its start', figures.atStart),
      line(`${figures.messages} messages wait`, figures.waiting),
      line('the first tenth drains', figures.drainingFirst),
      line('the rest drains', figures.drainingLater),
      line('a consumer of Kafka before its start', others.consumer.atStart),
      line(`it handles ${others.consumed} messages in batches`, others.consumer.working),
      line('the HTTP API at its start', others.api.atStart),
      line(`it answers ${others.requests} requests, 8 at once`, others.api.working),
    ],
  );
}
