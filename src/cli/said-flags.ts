import { OutboxError } from '../core/errors.ts';

/** An option of a command, as commander has it. */
export interface Flag {
  readonly long?: string | undefined;
  attributeName(): string;
}

/** What operations call by another name than flags do, by the words of their errors. */
const otherNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'the filter': { reason: 'failedWith', states: 'state' },
  'the operation': { ratePerSecond: 'rate' },
};

/** The error for the value of an option, naming the flag that the person has typed if the command has one of that name. */
export function saidOfFlags(error: unknown, flags: readonly Flag[]): unknown {
  if (!(error instanceof OutboxError) || error.code !== 'OUTBOX_OPTION_INVALID') return error;
  const [, name = '', owner = '', what = ''] =
    /^The option "(\w+)" of (the filter|the operation) (.*)$/s.exec(error.message) ?? [];
  const attribute = otherNames[owner]?.[name] ?? name;
  const long = flags.find((flag) => flag.attributeName() === attribute)?.long;
  if (long === undefined) return error;
  return new OutboxError(error.code, `${long} ${what}`, {
    cause: error,
    details: { ...error.details, option: long.replace(/^--/, '') },
  });
}
