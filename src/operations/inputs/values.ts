import { type Duration, durationMs } from '../../core/duration.ts';
import { listOf, recordOf } from '../../core/options/collections.ts';
import { misfit, type Reader } from '../../core/options/reader.ts';
import { flag, matching, optional, value, whole } from '../../core/options/values.ts';
import { uuid } from '../../core/uuid.ts';
import { writtenTime } from '../../core/written-time.ts';
import { asSentence, optionTexts } from '../descriptions.ts';
import { storable } from '../operation-options.ts';

/** What a request gives, by its names. */
export type Inputs = Readonly<Record<string, Reader<unknown>>>;

/** A reader with what its value means, as the help of the commands says it, and with what is particular to the API. */
export function meaning<Value>(reader: Reader<Value>, text: string, more = ''): Reader<Value> {
  const description = `${asSentence(text)} ${more}`.trimEnd();
  return { ...reader, schema: { ...reader.schema, description } };
}

/** UUID of a message or bulk operation. */
export const messageId: Reader<string> = value(
  'a UUID',
  (given) => (typeof given === 'string' && uuid.test(given) ? given.toLowerCase() : undefined),
  undefined,
  { schema: { type: 'string', format: 'uuid' } },
);
/** Name of a topic. */
export const topicName = matching(/^[\w.-]{1,200}$/, 'the name of a topic');
/** Name of a consumer group, or a message id within it. */
export const keptText = storable(1_000);
/** A condition of a filter: the whole text, not a part. */
export const condition = storable(1_000);
/** Name of a schedule or transport. */
export const shortName = storable(200);

/** What a {@link span} is written as. */
export const spanForm = 'A duration such as "90s" or "2 hours", or milliseconds.';
/** What a {@link givenTime} is written as. */
export const timeForm = 'Such as 2026-11-27T08:14Z.';

const written = /^-?\d{1,9}(?:\.\d{1,3})? ?[a-z]{0,12}$/i;

/** A duration, also a negative one, as milliseconds. */
export const span: Reader<number> = value(
  'a duration such as "90s", or milliseconds',
  (given) => {
    if (typeof given === 'string' ? !written.test(given) : typeof given !== 'number') return undefined;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is no duration has no milliseconds
    return durationMs(given as Duration);
  },
  undefined,
  { schema: { anyOf: [{ type: 'string', pattern: written.source }, { type: 'number' }] } },
);
/** How long one request may wait. */
const patience = whole(0, 20_000, 15_000);

/** A time of a request. Where the server stands is not known to who asks it, so the time names its zone. */
export const givenTime: Reader<Date> = {
  wanted: 'a time such as 2026-11-27T08:14Z',
  schema: { type: 'string', format: 'date-time' },
  read(given, option) {
    const time = typeof given === 'string' && given.length <= 40 ? writtenTime(given) : undefined;
    if (time?.zoned === true) return time.at;
    throw misfit(
      option,
      time === undefined ? `must be ${givenTime.wanted}` : 'must say its zone, such as Z or +02:00',
    );
  },
};

/** How long a change waits, and for what. */
export const waiting = (what: 'waitForLanes' | 'waitForPartitions' | 'waitForRelays') => ({
  timeout: meaning(patience, optionTexts[what], 'In milliseconds.'),
});

/** What every change may be given. */
export const authored = {
  reason: meaning(optional(storable(2_000)), optionTexts.reason),
  dryRun: meaning(optional(flag()), optionTexts.dryRun),
};

/** Any text that is not longer. */
const shortText = (longest: number): Reader<string> =>
  value(
    `a text of at most ${longest} characters`,
    (given) => (typeof given === 'string' && given.length <= longest ? given : undefined),
    undefined,
    { schema: { type: 'string', maxLength: longest } },
  );

/** How many entries of a list. */
export const entries = (least: number) => optional(whole(least, 200));

/** Query parameters of a page. */
export const page = {
  limit: meaning(entries(1), optionTexts.limit, '50 if not given.'),
  after: meaning(optional(shortText(3_000)), optionTexts.nextPage, 'Its `next`.'),
};

/** UUIDs of messages. */
export const messageIds = (most: number) =>
  listOf(messageId, `a list of 1 to ${most} UUIDs`, { least: 1, most });

/** Headers to set, or with null to remove. */
export const headerChanges = recordOf(
  value<string | null>(
    'a text, or null',
    (given) => (given === null || typeof given === 'string' ? given : undefined),
    undefined,
    { schema: { type: ['string', 'null'] } },
  ),
  'an object of texts',
);
