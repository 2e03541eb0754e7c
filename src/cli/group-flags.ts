import type { WantedGroups } from '../app/wanted-groups.ts';
import { OutboxError } from '../core/errors.ts';

/** Flags of commands that look at consumer groups of brokers. */
export interface GroupFlags {
  readonly group?: string;
  readonly topic?: string;
}

/** The groups and topics that the flags name; `undefined` if they name none. @throws OutboxError `OUTBOX_COMMAND_INVALID` */
export function groupsOf({ group, topic }: GroupFlags): WantedGroups | undefined {
  if (group === undefined && topic !== undefined)
    throw new OutboxError(
      'OUTBOX_COMMAND_INVALID',
      '--topic chooses topics for the groups of --group: add it.',
    );
  if (group === undefined) return undefined;
  return { groups: namesIn(group), ...(topic !== undefined && { topics: namesIn(topic) }) };
}

/** The names of a list with commas. */
export function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
