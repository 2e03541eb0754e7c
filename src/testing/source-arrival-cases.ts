import assert from 'node:assert/strict';
import { includesAll } from './source-bench.ts';
import type { SourceCase } from './source-contract.ts';

const backlog = 3_000;

/** What arrives, and where a group begins. */
export const arrivalCases: readonly SourceCase[] = [
  {
    name: 'every message arrives unchanged, with or without a key, sent before or after the group joined',
    needs: ['history'],
    async run(bench) {
      const before = await bench.send(20);
      const member = await bench.join();
      const after = await bench.send(20);
      await bench.eventually('all 40 are offered', () =>
        includesAll(member.numbers(), [...before, ...after]),
      );
      assert.equal(member.offers.length, 40, 'what was acknowledged is not offered again');
    },
  },
  {
    name: 'a message without a body arrives as null, and one with an empty body as empty',
    needs: ['empty-body'],
    async run(bench) {
      const member = await bench.join();
      const headers = { ce_type: 'contract' };
      await bench.sendThese([
        { partition: 0, key: 'gone', body: null, headers },
        { partition: 0, key: 'empty', body: '', headers },
      ]);
      await bench.eventually('both are offered', () => member.offers.length === 2);
      const bodies = member.offers.map(({ message }) => message.body?.length ?? null);
      assert.deepEqual(bodies, [null, 0]);
    },
  },
  {
    name: 'a group that asks for what arrives from now on gets nothing of before, and all of after',
    needs: [],
    async run(bench) {
      const before = await bench.send(12);
      const member = await bench.join({ fromBeginning: false });
      const after = await bench.send(12);
      await bench.eventually('all of after are offered', () => includesAll(member.numbers(), after));
      assert.ok(!member.numbers().some((n) => before.includes(n)), 'nothing of before is offered');
    },
  },
  {
    name: 'a group that asked for what arrives from now on misses nothing when it comes back, though it acknowledged nothing',
    needs: [],
    async run(bench) {
      const first = await bench.join({ fromBeginning: false });
      await first.stop();
      const meanwhile = await bench.send(12);
      const second = await bench.join({ fromBeginning: false });
      await bench.eventually('all of meanwhile are offered', () => includesAll(second.numbers(), meanwhile));
    },
  },
  {
    name: 'a long backlog arrives whole and in order, in batches',
    needs: ['history'],
    async run(bench) {
      const sent = await bench.send(backlog);
      const member = await bench.join({ batchSize: 1_000 });
      await bench.eventually('the backlog is offered', () => includesAll(member.numbers(), sent));
    },
  },
  {
    name: 'one subscription receives from all of its addresses',
    needs: ['history'],
    async run(bench) {
      const { addresses } = bench.subject;
      const sent = [...(await bench.send(8)), ...(await bench.send(8, undefined, addresses[1]))];
      const member = await bench.join({ addresses });
      await bench.eventually('messages of both are offered', () => includesAll(member.numbers(), sent));
    },
  },
  {
    name: 'a partition that takes long holds up no other',
    needs: ['history', 'partitions'],
    async run(bench) {
      const [slow] = await bench.send(1, 0);
      const quick = await bench.send(5, 1);
      const release = bench.gate();
      const member = await bench.join({
        async take(batch) {
          if (batch.partition === 0) await release.opened;
          for (const message of batch.messages) batch.acknowledge(message);
        },
      });
      await bench.eventually('the other partition is offered', () =>
        includesAll(member.numbers(), [slow ?? 0, ...quick]),
      );
      release.open();
    },
  },
  {
    name: 'the horizon of redelivery is a time, 0 or more',
    needs: [],
    async run({ subject: { source, addresses } }) {
      const horizonMs = await source.redeliveryHorizonMs(addresses);
      assert.ok(horizonMs >= 0, `${horizonMs} is 0 or more`);
    },
  },
];
