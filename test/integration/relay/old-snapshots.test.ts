import { expect, test } from 'vitest';
import {
  claimed,
  claimedAgain,
  keyedBesideRetrying,
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
  async (past) => {
    const least = await pagesBehind(past, few, claimed);
    const most = await pagesBehind(past, many, claimed);

    expect(most).toBeLessThan(least + deeper);
  },
);

test.each(Object.keys(pasts))(
  'the search for lanes costs as little behind %s and an old snapshot',
  async (past) => {
    const least = await pagesBehind(past, few, searched);
    const most = await pagesBehind(past, many, searched);

    expect(most).toBeLessThan(least + deeper);
  },
);

const retried = 'messages that were retried and confirmed';

test('a claim of a message with a key costs as little behind messages that were retried and an old snapshot', async () => {
  const least = await pagesBehind(retried, few, claimed, keyedMessages);
  const most = await pagesBehind(retried, many, claimed, keyedMessages);

  expect(most).toBeLessThan(least + deeper);
});

test('beside a message that is retrying, only the first of several claims reads those that were retried before', async () => {
  const least = await pagesBehind(retried, few, claimedAgain, keyedBesideRetrying);
  const most = await pagesBehind(retried, many, claimedAgain, keyedBesideRetrying);

  expect(most).toBeLessThan(least + deeper);
});
