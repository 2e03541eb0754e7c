import type { Command } from 'commander';
import type { Duration } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { keptStates } from '../core/parked-states.ts';
import { states } from '../core/transitions.ts';
import { optionTexts, statesText } from '../operations/descriptions.ts';
import type { KeptFilter, MessageFilter } from '../operations/list.ts';
import { nearTimeOfFlag } from './flag-values.ts';

/** Flags of a filter of messages, of the outbox or kept ones. All given conditions must hold. */
export interface FilterFlags {
  readonly group?: string;
  readonly topic?: string;
  readonly state?: string;
  readonly key?: string;
  readonly ref?: string;
  readonly error?: string;
  readonly createdFrom?: string;
  readonly createdTo?: string;
  readonly dueFrom?: string;
  readonly dueTo?: string;
  readonly failedWith?: string;
  readonly olderThan?: string;
}

function withCommon(command: Command, known: readonly string[]): Command {
  return command
    .option('--topic <name>', optionTexts.topic)
    .option('--state <states>', statesText(known))
    .option('--key <key>', optionTexts.key);
}

/** Adds the flags of a filter. */
export function withFilter(command: Command): Command {
  return withCommon(command, states)
    .option('--ref <ref>', optionTexts.ref)
    .option('--error <text>', optionTexts.error)
    .option('--created-from <time>', `${optionTexts.createdFrom}; 2h: in the last two hours`)
    .option('--created-to <time>', optionTexts.createdTo)
    .option('--due-from <time>', optionTexts.dueFrom)
    .option('--due-to <time>', `${optionTexts.dueTo}; 2h: within two hours`);
}

/** Adds the flags of a filter of kept messages, besides its group. */
export function withKeptFilter(command: Command): Command {
  return withCommon(command, keptStates)
    .option('--failed-with <reason>', optionTexts.keptFor)
    .option('--older-than <duration>', `${optionTexts.olderThan}, such as 2h`);
}

/** The filter that the flags give; empty if there is none. */
export function filterOf(flags: FilterFlags): MessageFilter {
  const { topic, state, key, ref, error, createdFrom, createdTo, dueFrom, dueTo } = flags;
  return given<MessageFilter>({
    topic,
    states: statesOf(state, states),
    key,
    ref,
    error,
    createdFrom: timeOf('created-from', createdFrom, 'ago'),
    createdTo: timeOf('created-to', createdTo, 'ago'),
    dueFrom: timeOf('due-from', dueFrom, 'from now'),
    dueTo: timeOf('due-to', dueTo, 'from now'),
  });
}

/** The same for kept messages, without its group. */
export function keptFilterOf({ topic, state, key, failedWith, olderThan }: FilterFlags): KeptFilter {
  return given<KeptFilter>({
    topic,
    states: statesOf(state, keptStates),
    key,
    reason: failedWith,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the check of the filter refuses other texts
    olderThan: olderThan as Duration | undefined,
  });
}

/** The conditions that have a value. */
function given<Filter extends object>(
  all: { readonly [Name in keyof Filter]: Filter[Name] | undefined },
): Filter {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every condition of a filter may be missing
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Filter;
}

function timeOf(option: string, text: string | undefined, from: 'ago' | 'from now'): Date | undefined {
  return text === undefined ? undefined : nearTimeOfFlag(option, text, from);
}

function statesOf<State extends string>(
  text: string | undefined,
  known: readonly State[],
): readonly State[] | undefined {
  return text?.split(',').map((each) => {
    const state = known.find((one) => one === each.trim());
    if (state !== undefined) return state;
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      `"${each.trim()}" is not one of the states ${known.join(', ')}.`,
      { details: { option: 'state' } },
    );
  });
}
