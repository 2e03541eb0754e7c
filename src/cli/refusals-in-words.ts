import { whatRemains } from '../operations/messages/what-remains.ts';

/** What the results of refused changes mean, and what helps. */
const meanings: Readonly<Record<string, string>> = {
  'behind-key': 'an earlier message of its key goes first: retry, edit or discard that one',
  unknown: 'there is no such message, or the group does not keep it: see list, and inbox list',
  busy: 'a relay, consumer or transaction has it in hand: try again',
  'out-of-range': 'the new time is beyond the greatest delay of its topic: see status',
  'past-expiry': 'it will have expired by then',
  expired: 'it has expired',
  refused: 'its topic refuses a new message: see the audit in show',
};

/** A line about each refusal among the answers to a change, and each state that did not allow it. */
export function refusalLines(
  action: string,
  answers: readonly { readonly result: string; readonly state: string | null }[],
): readonly string[] {
  const lines = answers.flatMap(({ result, state }) => {
    if (result === 'not-ended') return [`not-ended: ${state}: ${whatRemains(action, state)}.`];
    if (result === 'too-late')
      return [`too-late: ${state === null ? 'it is handled' : `${state}: ${whatRemains(action, state)}`}.`];
    const meaning = meanings[result];
    return meaning === undefined ? [] : [`${result}: ${meaning}.`];
  });
  return [...new Set(lines)];
}
