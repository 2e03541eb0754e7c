import { OutboxError } from '../errors.ts';
import { isObject, object, type ReadTable, unknownIn } from './collections.ts';
import { judged, misfit, type Problem, type Reader } from './reader.ts';

/** The options of one function. */
export interface OptionTable<Settings> {
  /** Checks the options and fills in the defaults. @throws OutboxError `OUTBOX_OPTION_INVALID` naming the first wrong one */
  readonly read: (given: unknown) => Settings;
  /** The error for options that do not fit together. @param what as in “must be true or false” */
  readonly invalid: (option: string, what: string, value?: unknown) => OutboxError;
}

/**
 * The options of a function, by the table of their readers.
 *
 * @param owner names the function in errors, such as `kafka()`
 * @param details are added to those of errors
 */
export function optionTable<const Of extends Readonly<Record<string, Reader<unknown>>>>(
  owner: string,
  table: Of,
  details: object = {},
): OptionTable<ReadTable<Of>> {
  const refuse = refusedBy(owner, details);
  const option = { path: '', refuse };
  const reader = object(table);
  return {
    read: (given) => judged(refuse, () => reader.read(given, option)),
    invalid: (path, what, value) => refuse(misfit({ path, refuse }, what, value).problems),
  };
}

/** One option of `owner`. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function readOption<Value>(owner: string, path: string, reader: Reader<Value>, given: unknown): Value {
  const refuse = refusedBy(owner, {});
  return judged(refuse, () => reader.read(given, { path, refuse }));
}

/**
 * For calls whose values are checked elsewhere.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` naming the first key of `given` that is not an option of `owner`
 */
export function assertOptions(owner: string, given: object, known: readonly string[]): void {
  const refuse = refusedBy(owner, {});
  const option = { path: '', refuse };
  if (!isObject(given)) throw refuse(misfit(option, 'must be an object').problems);
  const problems = unknownIn(given, known, option);
  if (problems.length > 0) throw refuse(problems);
}

function refusedBy(owner: string, details: object): (problems: readonly Problem[]) => OutboxError {
  return ([problem]) => {
    const { path = '', instead, told, what = '' } = problem ?? {};
    return new OutboxError('OUTBOX_OPTION_INVALID', said(owner, path, instead, what), {
      details: { option: path === '' ? 'options' : path, ...details, ...told },
    });
  };
}

function said(owner: string, path: string, instead: string | undefined, what: string): string {
  if (instead !== undefined) return `Unknown option "${path}" of ${owner}: ${instead}.`;
  return path === '' ? `The options of ${owner} ${what}.` : `The option "${path}" of ${owner} ${what}.`;
}
