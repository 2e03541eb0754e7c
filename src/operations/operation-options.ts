import { type Duration, durationMs, longestDurationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import type { Author } from '../store/audit/audit.ts';

/** Options of every operation that changes something. */
export interface OperationOptions {
  /** Who does it: a person or a tool, 1 to 200 characters. Recorded in the audit. */
  readonly actor: string;
  /** Why, up to 2,000 characters. Recorded in the audit. */
  readonly reason?: string;
  /** True: nothing is written, and the answers say what would happen. @defaultValue false */
  readonly dryRun?: boolean;
}

/** Messages by their ids, or by a ref: the waiting message of that ref, else the newest. */
export type Target = { readonly ids: readonly string[] } | { readonly topic: string; readonly ref: string };

/** Maximum number of messages per call. */
const targetLimit = 10_000;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

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

/** The ids without repeats. @throws OutboxError `OUTBOX_ID_INVALID`, or `OUTBOX_OPTION_INVALID` for none or too many */
export function assertIds(ids: readonly string[]): readonly string[] {
  const distinct = [...new Set(ids.map(assertId))];
  if (distinct.length >= 1 && distinct.length <= targetLimit) return distinct;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `${distinct.length} messages are named, but an operation takes 1 to ${targetLimit}.`,
    { details: { option: 'ids', count: distinct.length } },
  );
}

/** Checks that the database can store a text. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertText(option: string, value: unknown, longest: number): asserts value is string {
  const fits =
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= longest &&
    !/\0|\p{Surrogate}/u.test(value);
  if (fits) return;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `The option "${option}" is not a string of 1 to ${longest} characters without NUL.`,
    { details: { option } },
  );
}

/**
 * Milliseconds of a duration option, or its default.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` when it is not a duration of 0 to 36,500 days
 */
export function durationOf(option: string, given: Duration | undefined, normalMs: number): number {
  if (given === undefined) return normalMs;
  const value = durationMs(given);
  if (value !== undefined && value >= 0 && value <= longestDurationMs) return value;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `The option "${option}" is not a duration of 0 to 36,500 days.`,
    {
      details: { option },
    },
  );
}
