import assert from 'node:assert/strict';
import type { SourceCase } from './source-case.ts';
import { includesAll, type Member, numberOf } from './source-fixture.ts';

const restMs = 600;
/** A timer may fire slightly early. */
const toleranceMs = 5;

/** What is delivered again, and what is not. */
export const redeliveryCases: readonly SourceCase[] = [
  {
    name: 'a message is offered again and again until it is acknowledged',
    needs: ['history'],
    async run(fixture) {
      const sent = await fixture.send(24);
      const tries = new Map<number, number>();
      const done = new Set<number>();
      await fixture.join({
        take(batch) {
          for (const message of batch.messages) {
            const n = numberOf(message);
            tries.set(n, (tries.get(n) ?? 0) + 1);
            if (n % 4 === 0 && (tries.get(n) ?? 0) < 3) continue;
            batch.acknowledge(message);
            done.add(n);
          }
        },
      });
      await fixture.eventually('all are acknowledged', () => includesAll([...done], sent));
    },
  },
  {
    name: 'a consumer that returns continues after the acknowledged messages',
    needs: ['history'],
    async run(fixture) {
      const before = await fixture.send(20);
      const first = await fixture.join();
      await fixture.eventually('all are offered', () => includesAll(first.numbers(), before));
      await first.stop();
      const after = await fixture.send(8);
      const second = await fixture.join();
      await fixture.eventually('the later ones are offered', () => includesAll(second.numbers(), after));
      assert.deepEqual(
        sorted(second.numbers()),
        sorted(after),
        'nothing that was acknowledged is offered again',
      );
    },
  },
  {
    name: 'a message left open among acknowledged ones is offered to the next consumer',
    needs: ['history'],
    async run(fixture) {
      const { second, open } = await leaveGaps(fixture);
      await fixture.eventually('the open ones are offered', () => includesAll(second.numbers(), open));
    },
  },
  {
    name: 'after gaps the next consumer receives the first open message of a partition and all later ones, but none before it',
    needs: ['history', 'order'],
    async run(fixture) {
      const { second, open, sent } = await leaveGaps(fixture);
      const expected = sent.filter((n) => n >= (open[0] ?? 0));
      await fixture.eventually('all from the first open one on are offered', () =>
        includesAll(second.numbers(), expected),
      );
      assert.deepEqual(second.numbers(), expected);
    },
  },
  {
    name: 'a rejected message is offered again after its time, not before',
    needs: ['history'],
    async run(fixture) {
      const [given] = await fixture.send(1, 0);
      const member = await rejectOnce(fixture, given ?? 0);
      await fixture.eventually('it is offered again', () => offersOf(member, given).length === 2);
      const [first = 0, again = 0] = offersOf(member, given);
      assert.ok(
        again - first >= restMs - toleranceMs,
        `it came back after ${again - first} ms, not ${restMs}`,
      );
    },
  },
  {
    name: 'all messages after a rejected one wait with it, acknowledged or not, and keep their order',
    needs: ['history', 'order'],
    async run(fixture) {
      const sent = await fixture.send(9, 0);
      const given = sent[3] ?? 0;
      const member = await rejectOnce(fixture, given);
      await fixture.eventually('it is offered again', () => offersOf(member, given).length === 2);
      const [first = 0, again = 0] = offersOf(member, given);
      const meanwhile = member.offers.filter(({ atMs }) => atMs > first && atMs < again);
      assert.deepEqual(meanwhile, [], 'the partition rests');
      const behind = sent.filter((n) => n > given);
      await fixture.eventually('all behind it are offered', () =>
        includesAll(
          member.offers.filter(({ atMs }) => atMs >= again).map(({ n }) => n),
          behind,
        ),
      );
      const before = member.offers.filter(({ n, atMs }) => n < given && atMs >= again);
      assert.deepEqual(before, [], 'what was acknowledged before it is not offered again');
    },
  },
  {
    name: 'while one partition rests, the others continue',
    needs: ['history', 'partitions'],
    async run(fixture) {
      const [given] = await fixture.send(1, 0);
      const member = await rejectOnce(fixture, given ?? 0, 3 * restMs);
      await fixture.eventually('it is offered', () => offersOf(member, given).length === 1);
      const others = await fixture.send(10, 1);
      await fixture.eventually('the others are offered', () => includesAll(member.numbers(), others));
      assert.equal(offersOf(member, given).length, 1, 'the first partition still rests');
      await fixture.eventually('it is offered again', () => offersOf(member, given).length === 2);
    },
  },
];

type SourceFixture = Parameters<SourceCase['run']>[0];

/** A first member acknowledges all messages of one partition except two, and stops; returns the second member. */
async function leaveGaps(
  fixture: SourceFixture,
): Promise<{ readonly second: Member; readonly open: readonly number[]; readonly sent: readonly number[] }> {
  const sent = await fixture.send(15, 0);
  const open = [sent[6] ?? 0, sent[11] ?? 0];
  let rounds = 0;
  const first = await fixture.join({
    take(batch) {
      for (const message of batch.messages.toReversed()) {
        const n = numberOf(message);
        if (n === open[0]) rounds += 1;
        if (!open.includes(n)) batch.acknowledge(message);
      }
    },
  });
  // A source that offers messages one by one never gets past the first open one.
  await fixture.eventually('the gaps are offered', () => includesAll(first.numbers(), sent) || rounds > 1);
  await first.stop();
  return { second: await fixture.join(), open, sent };
}

/** A member that rejects one message the first time, and acknowledges all others. */
function rejectOnce(fixture: SourceFixture, given: number, afterMs = restMs): Promise<Member> {
  let rejected = false;
  return fixture.join({
    take(batch) {
      for (const message of batch.messages) {
        if (numberOf(message) !== given || rejected) batch.acknowledge(message);
        else {
          rejected = true;
          batch.reject(message, afterMs);
        }
      }
    },
  });
}

/** When a message was offered, by `performance.now()`. */
function offersOf(member: Member, wanted: number | undefined): readonly number[] {
  return member.offers.filter(({ n }) => n === wanted).map(({ atMs }) => atMs);
}

function sorted(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((a, b) => a - b);
}
