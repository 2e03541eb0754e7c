import assert from 'node:assert/strict';
import { aborted } from '../core/rest.ts';
import type { SourceCase } from './source-case.ts';
import { acknowledgeAll, includesAll, type Member } from './source-fixture.ts';

/** Groups, their members, and how a member leaves. */
export const groupCases: readonly SourceCase[] = [
  {
    name: 'two groups each receive everything',
    needs: ['history', 'groups'],
    async run(fixture) {
      const sent = await fixture.send(12);
      const members = [await fixture.join(), await fixture.join({ group: `${fixture.group}-other` })];
      for (const member of members)
        await fixture.eventually('all are offered', () => includesAll(member.numbers(), sent));
    },
  },
  {
    name: 'members of a group share the work, and the remaining ones take over from one that leaves',
    needs: [],
    async run(fixture) {
      const first = await fixture.join();
      const second = await fixture.join();
      let sent = [...(await fixture.send(40))];
      const both = (): readonly number[] => [...first.numbers(), ...second.numbers()];
      await fixture.eventually('all are offered', () => includesAll(both(), sent));
      await first.stop();
      const left = first.offers.length;
      sent = [...sent, ...(await fixture.send(40))];
      await fixture.eventually('all are offered to the other', () => includesAll(both(), sent));
      assert.equal(first.offers.length, left, 'who has left is offered nothing');
    },
  },
  {
    name: 'each partition belongs to one member of the group, and all belong to the last member',
    needs: ['order', 'partitions'],
    async run(fixture) {
      const { partitions } = fixture.subject;
      const first = await fixture.join();
      const second = await fixture.join();
      await fixture.eventually('both have some, and each has its own', () => {
        const owned = [...partitionsOf(first), ...partitionsOf(second)];
        const shared = new Set(owned).size === partitions && owned.length === partitions;
        return shared && partitionsOf(first).length > 0 && partitionsOf(second).length > 0;
      });
      await first.stop();
      await fixture.eventually('the other has all', () => partitionsOf(second).length === partitions);
    },
  },
  {
    name: 'a stopped consumer begins no message, waits for its batch, and keeps what it acknowledged',
    needs: ['history'],
    async run(fixture) {
      const sent = await fixture.send(3, 0);
      const release = fixture.gate();
      const seen = { mayBegin: [] as boolean[], ended: false };
      const first = await fixture.join({
        async take(batch) {
          seen.mayBegin.push(batch.mayBegin());
          const [message] = batch.messages;
          await aborted(batch.signal);
          seen.mayBegin.push(batch.mayBegin());
          await release.opened;
          if (message !== undefined) batch.acknowledge(message);
          seen.ended = true;
        },
      });
      await fixture.eventually('a batch is in hand', () => first.offers.length > 0);
      const stopping = first.stop().then(() => seen.ended);
      await fixture.eventually('the batch is told', () => seen.mayBegin.length === 2);
      release.open();
      assert.ok(await stopping, 'the stop waited for the batch');
      assert.deepEqual(seen.mayBegin, [true, false]);
      const second = await fixture.join();
      await fixture.eventually('the rest is offered to the next', () =>
        includesAll(second.numbers(), sent.slice(1)),
      );
      assert.ok(!second.numbers().includes(sent[0] ?? 0), 'what was acknowledged is kept');
    },
  },
  {
    name: 'a stop is allowed while nothing arrives, and twice',
    needs: [],
    async run(fixture) {
      const member = await fixture.join();
      await member.stop();
      await member.stop();
    },
  },
  {
    name: 'the lag counts the unacknowledged messages of every partition',
    needs: ['history'],
    async run(fixture) {
      const { partitions } = fixture.subject;
      await fixture.send(6, 0);
      const release = fixture.gate();
      const member = await fixture.join({
        async take(batch) {
          await release.opened;
          acknowledgeAll(batch);
        },
      });
      await fixture.eventually('a batch is in hand', () => member.offers.length > 0);
      const lag = await member.lag();
      assert.equal(lag.length, partitions, 'every partition is listed');
      assert.deepEqual([behind(lag, 0), behind(lag)], [6, 6]);
      release.open();
      await fixture.eventually('nothing is behind', async () => behind(await member.lag()) === 0);
    },
  },
];

function behind(lag: Awaited<ReturnType<Member['lag']>>, only?: number): number {
  const wanted = lag.filter(({ partition }) => only === undefined || partition === only);
  return wanted.reduce((sum, { messages }) => sum + messages, 0);
}

function partitionsOf(member: Member): readonly number[] {
  return member.assigned().map(({ partition }) => partition);
}
