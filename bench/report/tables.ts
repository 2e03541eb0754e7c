import type { DrainRow, Rounds } from '../compare.ts';
import type { ConsumeFigures } from '../consume.ts';
import type { Percentiles, Setting } from '../contenders/protocol.ts';
import type { GrowthRow } from '../growth.ts';
import type { IdleFigures } from '../idle.ts';
import type { Figures } from '../measure.ts';
import type { Stretch } from '../sustained-course.ts';
import type { WriteFigures } from '../write.ts';
import { barTables } from './bar-tables.ts';
import type { Surroundings } from './surroundings.ts';
import { table } from './table.ts';

/** The figures as a page in Markdown. */
export function tables(figures: Figures, { machine, measuredAt, versions }: Surroundings): string {
  const {
    consume,
    drain,
    drains = [],
    growth = [],
    idle,
    rowUpdates,
    swept = [],
    sustained,
    write,
  } = figures;
  return [
    '# Benchmark',
    '',
    `${measuredAt}, ${machine.processors} processors (${machine.model}), ${machine.memoryGb} GB, ${machine.system}.`,
    `Versions: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}.`,
    '',
    'Messages of 250 bytes to a Kafka topic of four partitions. All servers run on the same machine.',
    ...(drain === undefined ? [] : ['', '## Drain', '', ...drainTable(drains, drain.ours)]),
    ...(drain === undefined || swept.length === 0
      ? []
      : ['', 'Settings that were tried, one round each:', '', ...drainTable(swept, drain.ours)]),
    ...latenessTables(figures),
    ...(rowUpdates === undefined ? [] : ['', `Rows updated on the good way: ${rowUpdates}.`]),
    ...(write === undefined ? [] : ['', '## Storing', '', ...writeTable(write)]),
    ...(sustained === undefined ? [] : ['', '## Sustained', '', ...sustainedTable(sustained)]),
    ...(idle === undefined ? [] : ['', '## Few messages', '', ...idleTable(idle)]),
    ...(growth.length === 0 ? [] : ['', '## Growth', '', ...growthTable(growth)]),
    ...(consume === undefined ? [] : ['', '## Consumers', '', ...consumeTable(consume)]),
    ...barTables(figures),
    '',
  ].join('\n');
}

function latenessTables({ due = [], latency = [], latencyPolledMs }: Figures): readonly string[] {
  const polled = latencyPolledMs && [['temporal-outbox, not woken', '200', ...times(latencyPolledMs)]];
  const commits = latency.map(({ label, ms, perSecond }) => [label, String(perSecond), ...times(ms)]);
  const together = due.map(({ label, ms }) => [label, ...times(ms)]);
  const head = ['p50 ms', 'p99 ms'];
  return [
    ...(commits.length === 0
      ? []
      : [
          '',
          '## From commit to Kafka',
          '',
          ...table(['', 'messages/s', ...head], [...commits, ...(polled ?? [])]),
        ]),
    ...(together.length === 0
      ? []
      : ['', '## Due at one instant, late by', '', ...table(['', ...head], together)]),
  ];
}

function drainTable(rows: readonly DrainRow[], ours: number): readonly string[] {
  const spread = ({ highest, lowest }: Rounds): string =>
    lowest === highest ? '' : `${lowest} to ${highest}`;
  return table(
    ['', 'messages/s', 'of the rounds', 'ours is', 'node µs each', 'servers µs each'],
    rows.map((row) => [
      `${row.label}${settingOf(row.setting)}${row.node === 'own' ? ', older Node' : ''}`,
      String(row.perSecond.median),
      spread(row.perSecond),
      `${(ours / row.perSecond.median).toFixed(2)} times`,
      String(row.nodeUsPerMessage.median),
      Object.entries(row.serverUsPerMessage)
        .filter(([, us]) => us >= 0.05)
        .map(([server, us]) => `${server} ${us}`)
        .join(', '),
    ]),
  );
}

function growthTable(rows: readonly GrowthRow[]): readonly string[] {
  return table(
    ['', '', 'messages', 'messages/s', 'MB/s', 'node µs each'],
    rows.map(({ at, megabytesPerSecond, messages, nodeUsPerMessage, of, perSecond }) =>
      [of, at, messages, perSecond, megabytesPerSecond, nodeUsPerMessage].map(String),
    ),
  );
}

function writeTable({ batched, inserted, sent, walBytesPerMessage }: WriteFigures): readonly string[] {
  return table(
    ['', 'per second', 'the same with a plain INSERT'],
    [
      ['business transactions with one `send`', String(sent), String(inserted)],
      [`rows by \`sendBatch\`, ${walBytesPerMessage} bytes of WAL each`, String(batched), ''],
    ],
  );
}

function idleTable({ busyCores, cold, many, quietCores }: IdleFigures): readonly string[] {
  return table(
    ['', 'p50 ms', 'p99 ms', 'cores'],
    [
      ['a message a second to each topic', ...times(many), String(busyCores)],
      ['none', '', '', String(quietCores)],
      ['the first message after a rest', ...times(cold), ''],
    ],
  );
}

function consumeTable({
  bareBatch,
  bareSingle,
  batch,
  memory,
  replay,
  single,
}: ConsumeFigures): readonly string[] {
  const line = (what: string, ours: number, bare: number): string[] => [
    what,
    String(ours),
    String(bare),
    (ours / bare).toFixed(2),
  ];
  return [
    ...table(
      ['Kafka to database', 'messages/s', 'bare kafkajs', 'ratio'],
      [
        line('in batches', batch, bareBatch),
        line('a transaction each', single, bareSingle),
        ['processed before, in batches', String(replay), '', ''],
      ],
    ),
    '',
    `Memory over ${memory.messages} messages: ${memory.earlyMb} MB, later at most ${memory.latestMb} MB.`,
  ];
}

function settingOf(setting: Setting): string {
  return Object.entries(setting)
    .map(([name, value]) => `, ${name} ${value}`)
    .join('');
}

function times({ p50, p99 }: Percentiles): readonly string[] {
  return [String(p50), String(p99)];
}

function sustainedTable(figures: NonNullable<Figures['sustained']>): readonly string[] {
  const { pgBoss, seconds, stored, delivered, archived, droppedLeaves, walBytesPerMessage } = figures;
  const stretch = (name: string, { rate, delayP99Ms, databaseMb, memoryMb }: Stretch): string[] => [
    name,
    `${rate}/s, p99 ${delayP99Ms} ms, database ${databaseMb} MB, relay ${memoryMb} MB`,
    '',
  ];
  return table(
    [`${seconds} s`, 'per second', 'pg-boss'],
    [
      ['stored', String(stored), String(pgBoss.stored)],
      ['delivered', String(delivered), String(pgBoss.delivered)],
      ['archived', `${archived}; ${droppedLeaves} leaves were dropped`, `${pgBoss.deleted}, deleted`],
      stretch('the first sixth', figures.first),
      stretch('the last sixth', figures.last),
      ['WAL, bytes a message', String(walBytesPerMessage), ''],
    ],
  );
}
