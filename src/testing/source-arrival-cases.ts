import assert from 'node:assert/strict';
import type { SourceCase } from './source-case.ts';
import { includesAll } from './source-fixture.ts';

const backlog = 3_000;

/** What arrives, and where a group begins. */
export const arrivalCases: readonly SourceCase[] = [
  {
    name: 'every message arrives unchanged, with or without a key, sent before or after the group joined',
    needs: ['history'],
    async run(fixture) {
      const before = await fixture.send(20);
      const member = await fixture.join();
      const after = await fixture.send(20);
      await fixture.eventually('all 40 are offered', () =>
        includesAll(member.numbers(), [...before, ...after]),
      );
      assert.equal(member.offers.length, 40, 'what was acknowledged is not offered again');
    },
  },
  {
    name: 'a message without a body arrives as null, and one with an empty body as empty',
    needs: ['empty-body'],
    async run(fixture) {
      const member = await fixture.join();
      const headers = { ce_type: 'contract' };
      await fixture.sendThese([
        { partition: 0, key: 'gone', body: null, headers },
        { partition: 0, key: 'empty', body: '', headers },
      ]);
      await fixture.eventually('both are offered', () => member.offers.length === 2);
      const bodies = member.offers.map(({ message }) => message.body?.length ?? null);
      assert.deepEqual(bodies, [null, 0]);
    },
  },
  {
    name: 'a group that begins with new messages receives none from before, and all from after',
    needs: ['groups'],
    async run(fixture) {
      const before = await fixture.send(12);
      const member = await fixture.join({ fromBeginning: false });
      const after = await fixture.send(12);
      await fixture.eventually('all of after are offered', () => includesAll(member.numbers(), after));
      assert.ok(!member.numbers().some((n) => before.includes(n)), 'nothing of before is offered');
    },
  },
  {
    name: 'a group that began with new messages misses none when it returns, even if it acknowledged nothing',
    needs: [],
    async run(fixture) {
      const first = await fixture.join({ fromBeginning: false });
      await first.stop();
      const meanwhile = await fixture.send(12);
      const second = await fixture.join({ fromBeginning: false });
      await fixture.eventually('all of meanwhile are offered', () =>
        includesAll(second.numbers(), meanwhile),
      );
    },
  },
  {
    name: 'a long backlog arrives completely and in order, in batches',
    needs: ['history'],
    async run(fixture) {
      const sent = await fixture.send(backlog);
      const member = await fixture.join({ batchSize: 1_000 });
      await fixture.eventually('the backlog is offered', () => includesAll(member.numbers(), sent));
    },
  },
  {
    name: 'one subscription receives from all of its addresses',
    needs: ['history'],
    async run(fixture) {
      const { addresses } = fixture.subject;
      const sent = [...(await fixture.send(8)), ...(await fixture.send(8, undefined, addresses[1]))];
      const member = await fixture.join({ addresses });
      await fixture.eventually('messages of both are offered', () => includesAll(member.numbers(), sent));
    },
  },
  {
    name: 'a slow partition does not delay others',
    needs: ['history', 'partitions'],
    async run(fixture) {
      const [slow] = await fixture.send(1, 0);
      const quick = await fixture.send(5, 1);
      const release = fixture.gate();
      const member = await fixture.join({
        async take(batch) {
          if (batch.partition === 0) await release.opened;
          for (const message of batch.messages) batch.acknowledge(message);
        },
      });
      await fixture.eventually('the other partition is offered', () =>
        includesAll(member.numbers(), [slow ?? 0, ...quick]),
      );
      release.open();
    },
  },
  {
    name: 'the redelivery period is a time of 0 or more',
    needs: [],
    async run({ subject: { source, addresses } }) {
      const redeliveryPeriodMs = await source.redeliveryPeriodMs(addresses);
      assert.ok(redeliveryPeriodMs >= 0, `${redeliveryPeriodMs} is 0 or more`);
    },
  },
];
