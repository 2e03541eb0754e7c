import type { Command } from 'commander';
import type { Duration } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { type KeptState, keptStates } from '../core/parked-states.ts';
import type { KeptFilter } from '../operations/list.ts';

/** Flags of a filter of kept messages. All given conditions must hold. */
export interface KeptFilterFlags {
  readonly group?: string;
  readonly topic?: string;
  readonly state?: string;
  readonly key?: string;
  readonly failedWith?: string;
  readonly olderThan?: string;
}

/** Adds the flags of a filter. */
export function withKeptFilter(command: Command): Command {
  return command
    .option('--topic <name>', 'of this topic')
    .option('--state <states>', `in these states, separated by commas: ${keptStates.join(', ')}`)
    .option('--key <key>', 'with this key')
    .option(
      '--failed-with <reason>',
      'kept for this reason: error, permanent, killed, invalid, unreadable, …',
    )
    .option('--older-than <duration>', 'arrived at least this long ago, such as 2h');
}

/** The filter that the flags give, including the group; empty if there is none. */
export function keptFilterOf(flags: KeptFilterFlags): KeptFilter {
  const { group, topic, state, key, failedWith, olderThan } = flags;
  return {
    ...(group !== undefined && { group }),
    ...(topic !== undefined && { topic }),
    ...(state !== undefined && { states: state.split(',').map((name) => stateOf(name.trim())) }),
    ...(key !== undefined && { key }),
    ...(failedWith !== undefined && { reason: failedWith }),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the check of the filter refuses other texts
    ...(olderThan !== undefined && { olderThan: olderThan as Duration }),
  };
}

/** True if the flags contain another condition besides the group. */
export function hasKeptFilter(flags: KeptFilterFlags): boolean {
  return Object.keys(keptFilterOf(flags)).some((name) => name !== 'group');
}

function stateOf(name: string): KeptState {
  const state = keptStates.find((each) => each === name);
  if (state !== undefined) return state;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `"${name}" is not one of the states ${keptStates.join(', ')}.`,
    {
      details: { option: 'state' },
    },
  );
}
