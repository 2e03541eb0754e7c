import { expect, test } from 'vitest';
import {
  claimed,
  claimedAgain,
  claimedFirst,
  keyedBeside,
  keyedMessages,
  pagesBehind,
  pasts,
  searched,
} from '../../support/fixtures/old-snapshot.ts';

/** With few, and with many, a claim finds as little. */
const few = 100;
const many = 20_000;
/** Three pages deeper than the small one, in each index that a claim descends into. */
const deeper = 40;

test.each(Object.keys(pasts))(
  'a quiet lane costs a claim as little behind %s and an old snapshot',
  { tags: ['history-slows-nothing'] },
  async (past) => {
    const least = await pagesBehind(past, few, claimed);
    const most = await pagesBehind(past, many, claimed);

    expect(most).toBeLessThan(least + deeper);
  },
);

test.each(Object.keys(pasts))(
  'the search for lanes costs as little behind %s and an old snapshot',
  { tags: ['history-slows-nothing'] },
  async (past) => {
    const least = await pagesBehind(past, few, searched);
    const most = await pagesBehind(past, many, searched);

    expect(most).toBeLessThan(least + deeper);
  },
);

const kinds = [
  ['retrying', 'messages that were retried and confirmed', 'reject'],
  ['failed', 'messages that failed and were discarded', 'permanent'],
] as const;

test.each(kinds)(
  'a claim of a message with a key, where nothing is %s any more, costs as little behind %s and an old snapshot',
  { tags: ['history-slows-nothing'] },
  async (_, past) => {
    const least = await pagesBehind(past, few, claimedFirst, keyedMessages);
    const most = await pagesBehind(past, many, claimedFirst, keyedMessages);

    expect(most).toBeLessThan(least + deeper);
  },
);

test.each(kinds)(
  'beside a message that is %s, only the first of several claims reads the %s',
  { tags: ['history-slows-nothing'] },
  async (_, past, verdict) => {
    const beside = keyedBeside.bind(undefined, verdict);
    const least = await pagesBehind(past, few, claimedAgain, beside);
    const most = await pagesBehind(past, many, claimedAgain, beside);

    expect(most).toBeLessThan(least + deeper);
  },
);
