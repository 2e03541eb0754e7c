import { z } from 'zod';
import { component, count, time } from './values.ts';

/** What fires, what is silenced, and whether it was sent. */
export const alertStatusAnswer = component(
  'AlertStatus',
  z.object({
    readMs: z
      .number()
      .nullable()
      .describe('Milliseconds since a relay last read the figures; null: never, so nothing is judged.'),
    alerts: z.array(
      z.object({
        rule: z.string(),
        subject: z.string().describe('Such as `topic orders`; empty: the whole installation.'),
        figure: z.number(),
        text: z.string(),
        next: z.string().describe('The command to run.'),
        since: time,
        overAt: time.nullable().describe('Null: it fires.'),
        toldAt: time.nullable(),
      }),
    ),
    silences: z.array(
      z.object({ rule: z.string(), until: time, actor: z.string(), reason: z.string().nullable() }),
    ),
    destinations: z.array(
      z.object({
        name: z.string(),
        toldAt: time.nullable(),
        failures: count,
        error: z.string().nullable(),
      }),
    ),
  }),
);

/** Until when a rule is silenced. */
export const silencedAnswer = component(
  'Silenced',
  z.object({ until: time.nullable().describe('Null: it tells again.') }),
);
