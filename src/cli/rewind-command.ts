import { operations } from '../app/operations/operations.ts';
import { counted } from '../core/diagnosis.ts';
import { type RewindAnswer, replayInstead } from '../operations/inbox/rewind.ts';
import { nearTimeOfFlag } from './flag-values.ts';
import { namesIn } from './group-flags.ts';
import { loadConfig } from './load-config.ts';
import {
  configOf,
  databaseAddress,
  type OperatorFlags,
  optionsOf,
  refusedConsent,
  usageError,
} from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { printable } from './printable.ts';
import { table } from './table.ts';

export interface RewindFlags extends OperatorFlags {
  readonly group?: string;
  readonly to?: string;
  readonly topic?: string;
}

/** Sets a group back at its brokers, and shows where it was and is. */
export async function rewindCommand(flags: RewindFlags, output: Output): Promise<number> {
  const { group, topic } = flags;
  if (group === undefined || flags.to === undefined)
    return usageError('Name the group with --group, and the time with --to.', output);
  const to = nearTimeOfFlag('to', flags.to, 'ago');
  const question = `Let the group "${group}" receive again what was stored since ${to.toISOString()}?`;
  const refused = await refusedConsent(flags, question, output);
  if (refused !== undefined) return refused;
  const config = await loadConfig(configOf(flags));
  const at = operations({ ...config, database: await databaseAddress(flags) });
  try {
    const topics = topic === undefined ? undefined : namesIn(topic);
    const answer = await at.inbox.rewind(group, { ...optionsOf(flags), to, topics });
    tell(answer, flags.dryRun === true, output);
    return exitCodes.ok;
  } finally {
    await at.close();
    await Promise.all(Object.values(config.transports).map((transport) => transport.close()));
  }
}

function tell({ rewound, unable }: RewindAnswer, dryRun: boolean, output: Output): void {
  const rows = rewound.flatMap(({ address, partitions }) =>
    partitions.map(({ partition, before, after }) => [printable(address), String(partition), before, after]),
  );
  const offsets = rewound
    .flatMap(({ partitions }) => partitions)
    .reduce((sum, { before, after }) => sum + Number(BigInt(before) - BigInt(after)), 0);
  output.line(table(['ADDRESS', 'PARTITION', 'WAS AT', dryRun ? 'WOULD BE AT' : 'IS AT'], rows));
  output.line(`\n${counted(offsets, 'offset')} ${dryRun ? 'would be' : 'will be'} delivered again.`);
  if (unable.length > 0)
    output.line(`Nothing was set back at ${unable.map(printable).join(', ')}: ${replayInstead}`);
  output.value({ ok: true, dryRun, rewound, unable });
}
