import { expect, test } from 'vitest';
import {
  claimed,
  claimedAgain,
  claimedFirst,
  keyedBeside,
  keyedMessages,
  type Measured,
  pagesBehind,
  pasts,
  searched,
} from '../../support/fixtures/old-snapshot.ts';

/** With few, and with many, a claim finds as little. */
const few = 100;
const many = 20_000;
/** Three pages deeper than the small one, in each index that a claim descends into. */
const deeper = 40;

const quiet = { 'a claim of a quiet lane': { work: claimed }, 'a search for lanes': { work: searched } };

/** Where something has blocked its key: it is looked for, once, by the first claim of a message with a key. */
const keyed = (verdict: 'reject' | 'permanent'): Readonly<Record<string, Measured>> => ({
  ...quiet,
  'a claim of a message with a key, where nothing blocks any more': {
    before: keyedMessages,
    work: claimedFirst,
  },
  'the second claim beside a message that blocks its key': {
    before: (fixture) => keyedBeside(verdict, fixture),
    work: claimedAgain,
  },
});

const statements: Readonly<Record<string, Readonly<Record<string, Measured>>>> = {
  'messages that were retried and confirmed': keyed('reject'),
  'messages that failed and were discarded': keyed('permanent'),
};

test.each(Object.keys(pasts))(
  'claims and the search for lanes cost as little behind many %s and an old snapshot as behind few',
  { tags: ['history-slows-nothing'] },
  async (past) => {
    const measured = statements[past] ?? quiet;
    const least = await pagesBehind(past, few, measured);
    const most = await pagesBehind(past, many, measured);

    const slower = Object.entries(most).filter(([name, pages]) => pages >= (least[name] ?? 0) + deeper);
    expect(slower, JSON.stringify(least)).toEqual([]);
  },
);
