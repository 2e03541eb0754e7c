import { z } from 'zod';
import { type Duration, durationMs } from '../../core/duration.ts';
import { writtenTime } from '../../core/written-time.ts';
import { asSentence, optionTexts } from '../../operations/descriptions.ts';

/** Schemas with a name of their own in the OpenAPI document. */
export const components = z.registry<{ readonly id: string }>();

/** Gives a schema a name of its own. */
export function component<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  components.add(schema, { id });
  return schema;
}

/** A schema with what its value means, as the help of the commands says it, and with what is particular to the API. */
export function meaning<Schema extends z.ZodType>(schema: Schema, text: string, more = ''): Schema {
  return schema.describe(`${asSentence(text)} ${more}`.trimEnd());
}

const empty = 'must not be empty';
const storable = (longest: number) =>
  z
    .string()
    .min(1, { error: empty, abort: true })
    .max(longest, `must have at most ${longest} characters`)
    .refine((text) => text.trim() !== '', empty)
    .refine((text) => !/\0|\p{Surrogate}/u.test(text), 'must be a text without NUL and unpaired surrogates');

/** A UUID of a message or bulk operation. */
export const messageId = z.guid('must be a UUID').toLowerCase();
/** Name of a topic. */
export const topicName = z.string().regex(/^[\w.-]{1,200}$/, 'must be the name of a topic');
/** Name of a consumer group, or a message id within it. */
export const keptText = storable(1_000);
/** A condition of a filter. */
export const condition = storable(1_000).describe('The whole text, not a part.');
/** Name of a schedule or transport. */
export const shortName = storable(200);

/** What a {@link span} is written as. */
export const spanForm = 'A duration such as "90s" or "2 hours", or milliseconds.';
/** What a {@link givenTime} is written as. */
export const timeForm = 'Such as 2026-11-27T08:14Z.';
const noSpan = 'must be a duration such as "90s", or milliseconds';

/** A duration: `'90s'`, or milliseconds. Read as milliseconds. */
export const span = z
  .union([z.string().regex(/^-?\d{1,9}(?:\.\d{1,3})? ?[a-z]{0,12}$/i, noSpan), z.number()], noSpan)
  .transform((given, context) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is no duration has no milliseconds
    const inMs = durationMs(given as Duration);
    if (inMs === undefined) context.addIssue({ code: 'custom', message: noSpan });
    return inMs ?? z.NEVER;
  })
  .describe(spanForm);
/** How long one request may wait. */
export const patience = z.number().int().min(0).max(20_000).default(15_000);
/** What {@link patience} is written as. */
export const patienceForm = 'In milliseconds.';

/** A time of a request, as a Date. */
export const givenTime = z
  .string()
  .max(40)
  .meta({ format: 'date-time' })
  .transform((text, context) => {
    const time = writtenTime(text);
    if (time?.zoned === true) return time.at;
    context.addIssue({
      code: 'custom',
      // Where the server stands is not known to who asks it.
      message:
        time === undefined
          ? 'must be a time such as 2026-11-27T08:14Z'
          : 'must say its zone, such as Z or +02:00',
    });
    return z.NEVER;
  })
  .describe(timeForm);
/** A yes or no in a query. */
export const yesOrNo = z.enum(['true', 'false']).transform((text) => text === 'true');
/** A time of an answer. */
export const time = z.iso.datetime();
/** A 64-bit integer. */
export const bigInteger = z.string().regex(/^-?\d{1,19}$/);
/** Not negative. */
export const count = z.number().int().min(0);

/** What every change may be given. */
export const authored = {
  reason: meaning(z.exactOptional(storable(2_000)), optionTexts.reason),
  dryRun: meaning(z.exactOptional(z.boolean()), optionTexts.dryRun),
};

/** A whole number of a query, in digits: `0x10` and `1e2` would be numbers, too. */
export const wholeFrom = (least: number) =>
  z.preprocess(
    (given) => (typeof given === 'string' && !/^\d+$/.test(given) ? Number.NaN : given),
    z.coerce.number().int().min(least).max(200),
  );

/** Query parameters of a page. */
export const page = {
  limit: meaning(z.exactOptional(wholeFrom(1)), optionTexts.limit, '50 if not given.'),
  after: meaning(z.exactOptional(z.string().max(3_000)), optionTexts.nextPage, 'Its `next`.'),
};

/** Several words, separated by commas. */
export const words = <const Word extends string>(known: readonly Word[]) =>
  z
    .string()
    .max(200)
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(known)).min(1));

/** The answer to a change of something that is or is not so already. */
export const changed = component(
  'Changed',
  z.object({ changed: z.boolean().describe('False: it was so already, or its state did not allow it.') }),
);
