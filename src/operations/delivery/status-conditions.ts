import { durationMs } from '../../core/duration.ts';
import { OutboxError } from '../../core/errors.ts';
import type { Status } from './status.ts';

/** A number of the status that a condition may compare. */
interface StatusFigure {
  readonly unit: 'duration' | 'count';
  readonly meaning: string;
  /** Milliseconds, or a count; `null`: not known. */
  readonly read: (status: Status) => number | null;
}

const total = <One>(all: readonly One[], of: (one: One) => number): number =>
  all.reduce((sum, one) => sum + of(one), 0);

const count = (meaning: string, read: StatusFigure['read']): StatusFigure => ({
  unit: 'count',
  meaning,
  read,
});
const lasting = (meaning: string, read: StatusFigure['read']): StatusFigure => ({
  unit: 'duration',
  meaning,
  read,
});

/** The figures by name, in the order of the help. */
export const statusFigures: Readonly<Record<string, StatusFigure>> = {
  oldest: lasting('age of the oldest message that is due and not published', (at) => at.oldestDueMs ?? 0),
  ready: count('messages that their lanes send now', (at) => total(at.lanes, (lane) => lane.ready)),
  blocked: count('messages behind a retrying or failed one', (at) => total(at.lanes, (lane) => lane.blocked)),
  retrying: count('messages that wait for their next try', (at) => total(at.lanes, (lane) => lane.retrying)),
  waiting: count('messages that are not due yet', (at) => total(at.lanes, (lane) => lane.waiting)),
  failed: count('messages that wait for a person', (at) => total(at.lanes, (lane) => lane.failed)),
  holds: count('lanes that wait for a topic or transport', (at) =>
    total(at.lanes, ({ hold }) => (hold === null ? 0 : 1)),
  ),
  paused: count('lanes that an operator has paused', (at) =>
    total(at.lanes, ({ paused }) => (paused ? 1 : 0)),
  ),
  locked: count('open transactions that block lanes', (at) => at.laneLocks.length),
  relays: count('relays that run', (at) => total(at.relays, ({ alive }) => (alive ? 1 : 0))),
  away: count('servers that do not answer a relay', (at) =>
    total(at.servers, ({ error }) => (error === null ? 0 : 1)),
  ),
  consumers: count('consumers that run, of groups with their inbox in this database', (at) =>
    total(at.consumers, ({ alive }) => (alive ? 1 : 0)),
  ),
  parked: count('messages that groups keep to be tried again', (at) =>
    total(at.groups, (group) => group.parked),
  ),
  'parked-age': lasting('time since the oldest of them arrived', (at) =>
    Math.max(0, ...at.groups.map(({ oldestParkedMs }) => oldestParkedMs ?? 0)),
  ),
  'parked-failed': count('messages that groups keep for a person', (at) =>
    total(at.groups, (group) => group.failed),
  ),
  breakers: count('addresses that consumers pause', (at) => at.breakers.length),
  lag: count(
    'messages before the group that is furthest behind; not known without a relay that reads it',
    (at) => lagOf(at),
  ),
};

/** Messages of the group with most of them. */
function lagOf({ lags }: Status): number | null {
  const byGroup = new Map<string, number>();
  for (const { group, messages } of lags) byGroup.set(group, (byGroup.get(group) ?? 0) + messages);
  return byGroup.size === 0 ? null : Math.max(...byGroup.values());
}

const comparisons: Readonly<Record<string, (figure: number, bound: number) => boolean>> = {
  '>': (figure, bound) => figure > bound,
  '>=': (figure, bound) => figure >= bound,
  '<': (figure, bound) => figure < bound,
  '<=': (figure, bound) => figure <= bound,
  '=': (figure, bound) => figure === bound,
};

/** A condition on a figure of the status, such as `oldest > 1 minute`. */
export interface StatusCondition {
  readonly judge: (status: Status) => JudgedCondition;
}

/** What a status says about a condition. */
export interface JudgedCondition {
  /** As it was given, with single spaces. */
  readonly condition: string;
  /** Milliseconds of a duration, or a count; `null`: it is not known, and the condition does not hold. */
  readonly figure: number | null;
  readonly unit: StatusFigure['unit'];
  readonly holds: boolean;
}

/**
 * Reads `<figure> <comparison> <bound>`.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for another form, an unknown figure, or a bound of another unit
 */
export function readCondition(given: string): StatusCondition {
  const text = given.trim().replaceAll(/\s+/g, ' ');
  const [, name = '', comparison = '', written = ''] = /^([\w-]+) ?(>=|<=|>|<|=) ?(.+)$/.exec(text) ?? [];
  const compare = comparisons[comparison];
  if (compare === undefined)
    throw refused(`"${text}" is no condition: write a figure, one of > >= < <= =, and a bound.`);
  const figure = Object.hasOwn(statusFigures, name) ? statusFigures[name] : undefined;
  if (figure === undefined)
    throw refused(
      `"${name}" is no figure of the status; there are ${Object.keys(statusFigures).join(', ')}.`,
    );
  const bound = boundOf(figure, written);
  if (bound === undefined)
    throw refused(
      figure.unit === 'count'
        ? `"${name}" is a count, and "${written}" is no whole number.`
        : `"${name}" is a duration, and "${written}" is none with a unit, such as 1 minute.`,
    );
  const { read, unit } = figure;
  return {
    judge(status) {
      const value = read(status);
      return { condition: text, figure: value, unit, holds: value !== null && compare(value, bound) };
    },
  };
}

/** A duration needs a unit: whoever writes 60 does not mean milliseconds. */
function boundOf({ unit }: StatusFigure, text: string): number | undefined {
  if (/^\d{1,15}$/.test(text)) return unit === 'count' || Number(text) === 0 ? Number(text) : undefined;
  if (unit === 'count') return undefined;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  const ms = durationMs(text as Parameters<typeof durationMs>[0]);
  return ms === undefined || ms < 0 ? undefined : ms;
}

function refused(message: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', message, { details: { option: 'fail-if' } });
}
