import { type Duration, durationMs, longestDurationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { assertOptions } from '../core/options/option-table.ts';
import { textOf } from '../core/reason.ts';
import { yearOneMs } from '../core/written-time.ts';

/** When a message expires: a duration after it was sent, or at a time. One in the past is stored, and never sent. */
export type Expires =
  | { readonly after: Duration; readonly at?: never }
  | { readonly after?: never; readonly at: Date };

/** The database has the same limit. */
const latestMs = Date.UTC(9999, 11, 31);

/** The expiry as the database takes it: a duration counts by its clock. */
export function expiryOf(given: Expires | undefined): {
  readonly expiresAfterMs?: number;
  readonly expiresAt?: string;
} {
  if (given === undefined) return {};
  assertOptions('expires', given, ['after', 'at']);
  const { after, at }: { readonly after?: Duration; readonly at?: Date } = given;
  if ((after === undefined) === (at === undefined)) throw invalid('is either { after } or { at }', given);
  if (at !== undefined) {
    const atMs = at instanceof Date ? at.getTime() : Number.NaN;
    if (!(atMs < latestMs)) throw invalid('has as "at" a Date before the year 9999', at);
    return { expiresAt: new Date(Math.max(atMs, yearOneMs)).toISOString() };
  }
  const expiresAfterMs = after === undefined ? undefined : durationMs(after);
  if (expiresAfterMs === undefined || expiresAfterMs < 0 || expiresAfterMs > longestDurationMs)
    throw invalid(
      'has as "after" a duration of up to 100 years, in milliseconds or as a string such as \'15 minutes\'',
      after,
    );
  return { expiresAfterMs };
}

function invalid(what: string, value: unknown): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option "expires" ${what}.`, {
    details: { option: 'expires', value: textOf(value) },
  });
}
