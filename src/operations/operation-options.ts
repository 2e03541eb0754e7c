import type { Duration } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { assertOptions, optionTable, readOption } from '../core/options/option-table.ts';
import type { Reader } from '../core/options/reader.ts';
import { duration, flag, optional, value, whole } from '../core/options/values.ts';
import { uuid } from '../core/uuid.ts';
import type { Author } from '../store/audit/audit.ts';
import type { Database } from '../store/database/database.ts';

/** Options of every operation that changes something. */
export interface OperationOptions {
  /** Who does it: a person or a tool, 1 to 200 characters. Recorded in the audit. */
  readonly actor: string;
  /** Why, up to 2,000 characters. Recorded in the audit. */
  readonly reason?: string;
  /** True: nothing is written, and the answers say what would happen. @defaultValue false */
  readonly dryRun?: boolean;
}

/** Runs something on the migrated database. */
export type OnDatabase = <Result>(work: (database: Database) => Promise<Result>) => Promise<Result>;

/**
 * Checks the names of what was given for `owner`, and `dryRun`: a text "true", as a request has it, would be no dry run where `true`
 * is asked for.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function assertGiven(owner: string, known: readonly string[], given: unknown = {}): void {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it refuses what is no object
  const options = given as object;
  assertOptions(owner, options, known);
  if ('dryRun' in options) optionOf('dryRun', optional(flag()), options.dryRun);
}

/**
 * The names of what can be given in several ways, of which one is to be used.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function assertWays(what: string, ways: readonly (readonly string[])[], given: object = {}): void {
  assertGiven(what, ways.flat(), given);
  if (ways.some((names) => Object.keys(given).every((name) => names.includes(name)))) return;
  const said = ways.map((names) => names.map((name) => `"${name}"`).join(' and ')).join(', or by ');
  throw new OutboxError('OUTBOX_OPTION_INVALID', `Name ${what} by ${said}, not by both.`, {
    details: { option: Object.keys(given).join(', ') },
  });
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function authorOf({ actor, reason }: OperationOptions): Author {
  assertText('actor', actor, 200);
  if (reason === undefined) return { actor };
  assertText('reason', reason, 2_000);
  return { actor, reason };
}

/** @throws OutboxError `OUTBOX_ID_INVALID` */
export function assertId(id: string): string {
  if (typeof id === 'string' && uuid.test(id)) return id.toLowerCase();
  throw new OutboxError('OUTBOX_ID_INVALID', `The id "${id}" is not a UUID.`, { details: { id } });
}

/** A text that the database can store. */
export const storable = (longest: number): Reader<string> =>
  value(
    `a text of 1 to ${longest} characters without NUL`,
    (given) =>
      typeof given === 'string' &&
      given.trim() !== '' &&
      given.length <= longest &&
      !/\0|\p{Surrogate}/u.test(given)
        ? given
        : undefined,
    undefined,
    { schema: { type: 'string', minLength: 1, maxLength: longest } },
  );

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertText(option: string, given: unknown, longest: number): asserts given is string {
  optionOf(option, storable(longest), given);
}

/**
 * Milliseconds of a duration option, or its default.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` when it is not a duration of 0 to 36,500 days
 */
export function durationOf(option: string, given: Duration | undefined, normalMs: number): number {
  return optionOf(option, duration(0, undefined, normalMs), given);
}

/** How many entries a list answers. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function pageSizeOf(limit: number | undefined): number {
  return optionOf('limit', whole(1, 200, 50), limit);
}

/** The value of one option. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function optionOf<Value>(option: string, reader: Reader<Value>, given: unknown): Value {
  return readOption('the operation', option, reader, given);
}

/** The error of an option whose value is not what it must be. */
export const { invalid } = optionTable('the operation', {});
