import type { Duration } from '../core/duration.ts';
import { unknownNames } from '../operations/known-names.ts';
import type { TailedMessage, TailOptions } from '../operations/messages/tail.ts';
import { type FilterFlags, filterOf } from './filter-flags.ts';
import { durationOfFlag, wholeOfFlag } from './flag-values.ts';
import { factsOf } from './list-command.ts';
import { withOperations } from './operator-flags.ts';
import { exitCodes, explain, type Output } from './output.ts';
import { clip, screenColumns } from './printable.ts';
import type { CommonFlags } from './register.ts';

export interface TailFlags extends CommonFlags, FilterFlags {
  readonly last: string;
  readonly interval?: string;
}

/** Follows messages until the signal fires: a line for each new one, and for each change. */
export function tailCommand(flags: TailFlags, output: Output, signal: AbortSignal): Promise<number> {
  const interval: Duration | undefined =
    flags.interval === undefined ? undefined : durationOfFlag('interval', flags.interval);
  const filter = filterOf(flags);
  const options: TailOptions = {
    signal,
    last: wholeOfFlag('last', flags.last),
    ...(interval !== undefined && { interval }),
  };
  return withOperations(flags, async (at) => {
    const wrongName = await unknownNames(at, flags);
    if (wrongName !== undefined) return explain(wrongName, output);
    for await (const message of at.tail(filter, options)) tell(message, output);
    return exitCodes.ok;
  });
}

function tell(message: TailedMessage, output: Output): void {
  const { gap, id, state, topic, updatedAt } = message;
  if (gap) output.line('… some are left out: more has changed than is read at a time');
  const facts = factsOf(message);
  output.line(
    [
      updatedAt.toISOString().slice(11, 19),
      state.padEnd(stateWidth),
      clip(topic, 24),
      id,
      ...(facts === '' ? [] : [clip(facts, screenColumns())]),
    ].join('  '),
  );
  output.value(message);
}

/** Of the longest state. */
const stateWidth = 10;
