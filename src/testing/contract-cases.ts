import assert from 'node:assert/strict';
import { type ContractFixture, interleaved, keyNames, message } from './contract-fixture.ts';

/** A case before it knows its subject. */
export interface CaseBody {
  readonly name: string;
  run(fixture: ContractFixture): Promise<void>;
}

/** More than a Kafka batch may hold by default, though each message is small. */
const bigBatch = { messages: 2_000, textBytes: 600 } as const;

/** What every transport does when nothing fails. */
export const plainCases: readonly CaseBody[] = [
  {
    name: 'every message of a batch is acknowledged and arrives unchanged, with or without a key',
    run: (fixture) => fixture.deliver(interleaved(['a', null, 'b', null, 'c'], 50)),
  },
  {
    name: 'an empty batch has an empty result',
    run: async (fixture) => assert.deepEqual(await fixture.publish([]), []),
  },
  {
    name: 'a key keeps its order over several batches',
    async run(fixture) {
      const keys = keyNames(7);
      for (let round = 0; round < 5; round += 1) await fixture.deliver(interleaved(keys, 70));
    },
  },
  {
    name: 'a batch far larger than a broker accepts at once is delivered completely and in order',
    run: (fixture) =>
      fixture.deliver(interleaved(['one'], bigBatch.messages, 'x'.repeat(bigBatch.textBytes))),
  },
  {
    name: 'batches published at the same time all arrive',
    async run(fixture) {
      const lanes = keyNames(6).map((lane) => interleaved([`${lane}-a`, `${lane}-b`], 60));
      await Promise.all(lanes.map((lane) => fixture.deliver(lane)));
    },
  },
  {
    name: 'the address can be probed, and reports its number of partitions if it has any',
    async run({ subject: { transport, address, partitions } }) {
      await transport.probe(address);
      if (transport.partitionCount !== undefined)
        assert.equal(await transport.partitionCount(address), partitions);
    },
  },
];

/** Life cycle: stopping a batch, closing, and going on. */
export const lifeCycleCases: readonly CaseBody[] = [
  {
    name: 'a transport delivers again after it was closed',
    async run(fixture) {
      await fixture.deliver(interleaved(['a', 'b'], 10));
      await fixture.subject.transport.close();
      await fixture.deliver(interleaved(['a', 'b'], 10));
    },
  },
  {
    name: 'closing is allowed before the first use and twice',
    async run({ subject: { transport } }) {
      await transport.close();
      await transport.close();
    },
  },
  {
    name: 'batches that are open while the transport closes are settled or deferred',
    async run(fixture) {
      const open = keyNames(4).map((key) => fixture.publish(interleaved([key], 200)));
      await fixture.subject.transport.close();
      await Promise.all(open);
    },
  },
  {
    name: 'a batch that was given up before it began sends nothing',
    async run(fixture) {
      const outcomes = await fixture.publish(interleaved(keyNames(5), 20), AbortSignal.abort());
      assert.ok(outcomes.every((outcome) => outcome.kind === 'deferred' && !outcome.onWire));
    },
  },
  {
    name: 'a batch that is given up while it is sent has an outcome for every message',
    async run(fixture) {
      const stop = new AbortController();
      const answer = fixture.publish(interleaved(['one'], 2_000, 'x'.repeat(2_000)), stop.signal);
      await Promise.resolve();
      stop.abort();
      await answer;
      await fixture.deliver([message('one'), message('two')]);
    },
  },
];
