import { expect, test } from 'vitest';
import { atMost } from '../../src/core/at-most.ts';
import { OutboxError } from '../../src/core/errors.ts';
import type { MessageAnswer } from '../../src/operations/change.ts';
import { laneFixture } from '../support/fixtures/lane-fixture.ts';
import { ada, auditOf, failAll, operatorAt } from '../support/fixtures/operator.ts';

const messages = 60;
const messagesAtOnce = 5;
/** So many are retried or discarded first, and so many edited first; for the others the quicker operator wins. */
const inOrder = 10;

function outcomeOf(
  id: string,
  edits: readonly string[],
  [rival]: readonly MessageAnswer<'retried' | 'expired' | 'discarded'>[],
) {
  return { id, copies: edits.filter((copy) => copy !== 'conflict'), rival: rival?.result };
}

test('I10 when several operators edit, retry and discard the same failed messages at once, exactly one wins each message', {
  tags: ['edit-happens-once'],
}, async () => {
  const fixture = await laneFixture();
  const operators = [operatorAt(fixture), operatorAt(fixture), operatorAt(fixture)];
  const [first, second, third] = operators;
  if (first === undefined || second === undefined || third === undefined) throw new Error('three operators');
  try {
    const labels = Array.from({ length: messages }, (_, n) => `m${n}`);
    await failAll(fixture, labels);
    const ids = labels.map((label) => fixture.idOf(label));
    const edit = async (id: string, by: typeof first): Promise<string> =>
      by.edit(id, { ...ada, payload: `edited ${id}` }).then(
        (edited) => edited.id,
        (error: unknown) => {
          if (error instanceof OutboxError && /_CONFLICT$|_BUSY$/.test(error.code)) return 'conflict';
          throw error;
        },
      );
    // Each operator has five connections, and counts the server as away if it waits for one for long.
    const outcomes = await atMost(messagesAtOnce, [...ids.entries()], async ([n, id]) => {
      const editBoth = () => Promise.all([edit(id, first), edit(id, third)]);
      const takeAway = () =>
        n % 2 === 0 ? second.retry({ ids: [id] }, ada) : second.discard({ ids: [id] }, ada);
      if (n < inOrder) {
        const answers = await takeAway();
        return outcomeOf(id, await editBoth(), answers);
      }
      if (n < 2 * inOrder) return outcomeOf(id, await editBoth(), await takeAway());
      return outcomeOf(id, ...(await Promise.all([editBoth(), takeAway()])));
    });

    for (const { copies, rival } of outcomes)
      expect(
        copies.length + (rival === 'retried' || rival === 'discarded' ? 1 : 0),
        'winners of one message',
      ).toBe(1);
    const edited = outcomes.filter(({ copies }) => copies.length === 1);
    const others = outcomes.filter(({ copies }) => copies.length === 0);
    // Who came first has won; both kinds of winners have occurred.
    expect(outcomes.slice(0, inOrder).filter(({ copies }) => copies.length > 0)).toEqual([]);
    expect(outcomes.slice(inOrder, 2 * inOrder).filter(({ copies }) => copies.length === 0)).toEqual([]);
    await fixture.drain();
    const sent = fixture.broker.log.map(({ id }) => id);
    const retried = others.filter(({ rival }) => rival === 'retried').map(({ id }) => id);
    expect(sent.toSorted(), 'copies and retried ones, once; originals never').toEqual(
      [...edited.flatMap(({ copies }) => copies), ...retried].toSorted(),
    );
    for (const { id, copies } of edited) {
      const details = await first.show(id);
      expect(details?.message).toMatchObject({ state: 'superseded', supersededBy: copies[0] });
    }
    const audit = await auditOf(fixture);
    expect(audit.length, 'three askers, three entries').toBe(3 * messages);
  } finally {
    for (const operator of operators) await operator.close();
    await fixture.drop();
  }
});
