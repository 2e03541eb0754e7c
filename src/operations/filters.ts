import { type Duration, durationMs } from '../core/duration.ts';
import { assertOptions } from '../core/options/option-table.ts';
import { keptStates } from '../core/parked-states.ts';
import { states } from '../core/transitions.ts';
import type { KeptFilter } from '../store/inbox/list.ts';
import type { MessageFilter } from '../store/message/list.ts';
import { assertId, assertText, invalid } from './operation-options.ts';

/** Checks one condition, and answers it as the store reads it. */
type Reader = (value: unknown, name: string) => unknown;

const messageReaders: Readonly<Record<keyof MessageFilter, Reader>> = {
  id: (value) => assertId(String(value)),
  topic: text,
  states: oneOf(states),
  key: text,
  ref: text,
  error: text,
  createdFrom: time,
  createdTo: time,
  dueFrom: time,
  dueTo: time,
};

const keptReaders: Readonly<Record<keyof KeptFilter, Reader>> = {
  group: text,
  topic: text,
  states: oneOf(keptStates),
  key: text,
  reason: text,
  olderThan: age,
};

/** A filter with every value checked, and its times in ISO. @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_ID_INVALID` */
export function checkFilter(filter: MessageFilter): MessageFilter<string> {
  return readFilter(filter, messageReaders);
}

/** The same for kept messages, with the age in milliseconds. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkKeptFilter(filter: KeptFilter): KeptFilter<number> {
  return readFilter(filter, keptReaders);
}

function readFilter(filter: object, readers: Readonly<Record<string, Reader>>): object {
  assertOptions('the filter', filter, Object.keys(readers));
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, readers[name]?.(value, name)]));
}

function text(value: unknown, name: string): string {
  assertText(name, value, 1_000);
  return value;
}

function oneOf(known: readonly string[]): Reader {
  return (value, name) => {
    const given = (Array.isArray(value) ? value : [value]).map(String);
    const bad = given.find((state) => !known.includes(state));
    if (bad !== undefined) throw invalid(name, `must be of ${known.join(', ')}, and has "${bad}"`);
    if (given.length === 0) throw invalid(name, 'must not be empty');
    return given;
  };
}

function time(value: unknown, name: string): string {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw invalid(name, 'must be a valid Date');
}

function age(value: unknown, name: string): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for anything else
  const ms = durationMs(value as Duration);
  if (ms === undefined || ms < 0) throw invalid(name, 'must be a duration of 0 ms or more');
  return ms;
}
