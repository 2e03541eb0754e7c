import assert from 'node:assert/strict';
import { includesAll, type Member, numberOf } from './source-bench.ts';
import type { SourceCase } from './source-contract.ts';

const restMs = 600;
/** A timer may fire a little before its time. */
const toleranceMs = 5;

/** What is offered again, and what is not. */
export const redeliveryCases: readonly SourceCase[] = [
  {
    name: 'what is not acknowledged is offered again, and again, until it is',
    needs: ['history'],
    async run(bench) {
      const sent = await bench.send(24);
      const tries = new Map<number, number>();
      const done = new Set<number>();
      await bench.join({
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
      await bench.eventually('all are acknowledged', () => includesAll([...done], sent));
    },
  },
  {
    name: 'who comes back goes on behind what was acknowledged',
    needs: ['history'],
    async run(bench) {
      const before = await bench.send(20);
      const first = await bench.join();
      await bench.eventually('all are offered', () => includesAll(first.numbers(), before));
      await first.stop();
      const after = await bench.send(8);
      const second = await bench.join();
      await bench.eventually('the later ones are offered', () => includesAll(second.numbers(), after));
      assert.deepEqual(
        sorted(second.numbers()),
        sorted(after),
        'nothing that was acknowledged is offered again',
      );
    },
  },
  {
    name: 'what was left open among acknowledged ones is offered to the next who joins',
    needs: ['history'],
    async run(bench) {
      const { second, open } = await leaveGaps(bench);
      await bench.eventually('the open ones are offered', () => includesAll(second.numbers(), open));
    },
  },
  {
    name: 'of a partition with gaps the next who joins gets the first open message and all behind it, and none before it',
    needs: ['history', 'order'],
    async run(bench) {
      const { second, open, sent } = await leaveGaps(bench);
      const expected = sent.filter((n) => n >= (open[0] ?? 0));
      await bench.eventually('all from the first open one on are offered', () =>
        includesAll(second.numbers(), expected),
      );
      assert.deepEqual(second.numbers(), expected);
    },
  },
  {
    name: 'a message that is given back is offered again after its time, not before',
    needs: ['history'],
    async run(bench) {
      const [given] = await bench.send(1, 0);
      const member = await rejectOnce(bench, given ?? 0);
      await bench.eventually('it is offered again', () => offersOf(member, given).length === 2);
      const [first = 0, again = 0] = offersOf(member, given);
      assert.ok(
        again - first >= restMs - toleranceMs,
        `it came back after ${again - first} ms, not ${restMs}`,
      );
    },
  },
  {
    name: 'all behind a message that was given back wait with it, acknowledged or not, and keep their order',
    needs: ['history', 'order'],
    async run(bench) {
      const sent = await bench.send(9, 0);
      const given = sent[3] ?? 0;
      const member = await rejectOnce(bench, given);
      await bench.eventually('it is offered again', () => offersOf(member, given).length === 2);
      const [first = 0, again = 0] = offersOf(member, given);
      const meanwhile = member.offers.filter(({ atMs }) => atMs > first && atMs < again);
      assert.deepEqual(meanwhile, [], 'the partition rests');
      const behind = sent.filter((n) => n > given);
      await bench.eventually('all behind it are offered', () =>
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
    name: 'while one partition rests the others go on',
    needs: ['history', 'partitions'],
    async run(bench) {
      const [given] = await bench.send(1, 0);
      const member = await rejectOnce(bench, given ?? 0, 3 * restMs);
      await bench.eventually('it is offered', () => offersOf(member, given).length === 1);
      const others = await bench.send(10, 1);
      await bench.eventually('the others are offered', () => includesAll(member.numbers(), others));
      assert.equal(offersOf(member, given).length, 1, 'the first partition still rests');
      await bench.eventually('it is offered again', () => offersOf(member, given).length === 2);
    },
  },
];

type Bench = Parameters<SourceCase['run']>[0];

/** Lets a first member acknowledge all of one partition but two, and stop; answers the second member. */
async function leaveGaps(
  bench: Bench,
): Promise<{ readonly second: Member; readonly open: readonly number[]; readonly sent: readonly number[] }> {
  const sent = await bench.send(15, 0);
  const open = [sent[6] ?? 0, sent[11] ?? 0];
  let rounds = 0;
  const first = await bench.join({
    take(batch) {
      for (const message of batch.messages.toReversed()) {
        const n = numberOf(message);
        if (n === open[0]) rounds += 1;
        if (!open.includes(n)) batch.acknowledge(message);
      }
    },
  });
  // A source that offers them one by one never comes behind the first open one.
  await bench.eventually('the gaps are offered', () => includesAll(first.numbers(), sent) || rounds > 1);
  await first.stop();
  return { second: await bench.join(), open, sent };
}

/** A member that gives one message back the first time, and acknowledges all others. */
function rejectOnce(bench: Bench, given: number, afterMs = restMs): Promise<Member> {
  let rejected = false;
  return bench.join({
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

/** When a message was offered, by the clock of `performance`. */
function offersOf(member: Member, wanted: number | undefined): readonly number[] {
  return member.offers.filter(({ n }) => n === wanted).map(({ atMs }) => atMs);
}

function sorted(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((a, b) => a - b);
}
