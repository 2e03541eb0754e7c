import { type FoundGroup, tidyGroups } from '../app/operations/tidy-groups.ts';
import type { Config } from '../config/config.ts';
import { counted } from '../core/diagnosis.ts';
import { age } from './age.ts';
import { durationOfFlag } from './flag-values.ts';
import { namesIn } from './group-flags.ts';
import { usageError } from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import type { CommonFlags } from './register.ts';
import { table } from './table.ts';

export interface TidyFlags extends CommonFlags {
  readonly topic?: string;
  readonly group?: string;
  readonly unusedFor?: string;
  readonly remove?: boolean;
  readonly force?: boolean;
}

const weekMs = 7 * 24 * 60 * 60_000;

const words: Readonly<Record<FoundGroup['verdict'], string>> = {
  'in-use': 'in use',
  open: 'unused, with open messages',
  new: 'never used',
  unused: 'unused',
  removed: 'REMOVED',
  gone: 'removed meanwhile',
};

/** Shows the groups that brokers keep, and removes those that nobody uses if the flags say so. */
export async function groupsCommand(config: Config, flags: TidyFlags, output: Output): Promise<number> {
  const { force = false, group, remove = false, topic } = flags;
  if (force && !(remove && group !== undefined))
    return usageError('--force goes with --remove, and with --group and the names of the groups.', output);
  const removing = force ? 'force' : 'remove';
  const act = remove ? removing : 'look';
  const unusedForMs = flags.unusedFor === undefined ? weekMs : durationOfFlag('unused-for', flags.unusedFor);
  const found = await tidyGroups(config, {
    topics: topic === undefined ? undefined : namesIn(topic),
    groups: group === undefined ? undefined : namesIn(group),
    unusedForMs,
    act,
  });
  const head = ['GROUP', 'ADDRESS', 'OPEN', 'CONSUMERS', 'ASKED', 'STATE'];
  output.line(found.length === 0 ? 'No broker keeps a group.' : table(head, found.map(rowOf)));
  output.line(`\n${summaryOf(found, remove)}`);
  output.value({ ok: true, dryRun: !remove, groups: found });
  return exitCodes.ok;
}

function rowOf({ address, consumers, group, open, quietMs, verdict }: FoundGroup): readonly string[] {
  const asked = quietMs === null ? 'never' : `${age(quietMs)} ago`;
  return [group, address, String(open), String(consumers), asked, words[verdict]];
}

function summaryOf(found: readonly FoundGroup[], remove: boolean): string {
  const wanted = remove ? 'removed' : 'unused';
  const groups = found.filter(({ verdict }) => verdict === wanted).length;
  const consumers = found
    .filter(({ verdict }) => verdict !== wanted)
    .reduce((sum, { goneConsumers }) => sum + goneConsumers, 0);
  const what = `${counted(groups, 'group')} and, in other groups, ${counted(consumers, 'consumer')}`;
  if (remove) return `Removed: ${what}.`;
  return groups + consumers === 0 ? 'Nothing to remove.' : `Unused: ${what}; --remove removes them.`;
}
