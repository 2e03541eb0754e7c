/** What the results of refused changes mean, and what helps. */
const meanings: Readonly<Record<string, string>> = {
  'too-late':
    'its state does not allow that any more: see show. A ready message can be withdrawn, a published one replayed',
  'behind-key': 'an earlier message of its key goes first: retry, edit or discard that one',
  unknown: 'there is no such message, or the group does not keep it: see list, and inbox list',
  busy: 'a relay, consumer or transaction has it in hand: try again',
  'out-of-range': 'the new time is beyond the greatest delay of its topic: see status',
  'past-expiry': 'it will have expired by then',
  expired: 'it has expired',
  refused: 'its topic refuses a new message: see the audit in show',
};

/** A line about each refusal among the results of a change. */
export function refusalLines(results: readonly string[]): readonly string[] {
  return [...new Set(results)].flatMap((result) => {
    const meaning = meanings[result];
    return meaning === undefined ? [] : [`${result}: ${meaning}.`];
  });
}
