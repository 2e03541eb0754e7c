import type { Command } from 'commander';
import { OutboxError } from '../core/errors.ts';
import { type State, states } from '../core/transitions.ts';
import type { MessageFilter } from '../operations/list.ts';
import { timeOfFlag } from './flag-values.ts';

/** Flags of a filter. All given conditions must hold. */
export interface FilterFlags {
  readonly topic?: string;
  readonly state?: string;
  readonly key?: string;
  readonly ref?: string;
  readonly error?: string;
  readonly createdFrom?: string;
  readonly createdTo?: string;
  readonly dueFrom?: string;
  readonly dueTo?: string;
}

/** Adds the flags of a filter. */
export function withFilter(command: Command): Command {
  return command
    .option('--topic <name>', 'of this topic')
    .option('--state <states>', `in these states, separated by commas: ${states.join(', ')}`)
    .option('--key <key>', 'with this key')
    .option('--ref <ref>', 'with this ref')
    .option('--error <text>', 'whose last error contains this text')
    .option('--created-from <time>', 'stored at this ISO time or later')
    .option('--created-to <time>', 'stored before this ISO time')
    .option('--due-from <time>', 'due at this ISO time or later')
    .option('--due-to <time>', 'due before this ISO time');
}

/** The filter that the flags give; empty if there is none. */
export function filterOf(flags: FilterFlags): MessageFilter {
  const { topic, state, key, ref, error, createdFrom, createdTo, dueFrom, dueTo } = flags;
  return {
    ...(topic !== undefined && { topic }),
    ...(state !== undefined && { states: state.split(',').map((name) => stateOf(name.trim())) }),
    ...(key !== undefined && { key }),
    ...(ref !== undefined && { ref }),
    ...(error !== undefined && { error }),
    ...(createdFrom !== undefined && { createdFrom: timeOfFlag('created-from', createdFrom) }),
    ...(createdTo !== undefined && { createdTo: timeOfFlag('created-to', createdTo) }),
    ...(dueFrom !== undefined && { dueFrom: timeOfFlag('due-from', dueFrom) }),
    ...(dueTo !== undefined && { dueTo: timeOfFlag('due-to', dueTo) }),
  };
}

function stateOf(name: string): State {
  const state = states.find((each) => each === name);
  if (state !== undefined) return state;
  throw new OutboxError('OUTBOX_OPTION_INVALID', `"${name}" is not one of the states ${states.join(', ')}.`, {
    details: { option: 'state' },
  });
}
