import { afterEach, expect, inject, test, vi } from 'vitest';
import { kafkaConnection } from '../../../src/brokers/kafka/transport/kafka-options.ts';
import { kafka, kafkaOver } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { answeringWire } from '../../support/kafka/answering-wire.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';
import { kafkaRequests, watchWire } from '../../support/kafka/watched-wire.ts';

const brokers = inject('kafkaBrokers');
const client = observer(brokers);

afterEach(() => vi.useRealTimers());

test.for([
  [-1, 'UNKNOWN_SERVER_ERROR'],
  [3, 'UNKNOWN_TOPIC_OR_PARTITION'],
  [6, 'NOT_LEADER_OR_FOLLOWER'],
  [7, 'REQUEST_TIMED_OUT'],
  [20, 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'],
  [42, 'INVALID_REQUEST'],
  [56, 'KAFKA_STORAGE_ERROR'],
  [12_345, 'an unknown code'],
] as const)(
  'a message that is stored and answered with %i (%s) is never reported as not stored',
  { tags: ['inconclusive-may-be-stored'] },
  async ([code]) => {
    const wire = await answeringWire(brokers);
    const transport = kafkaOver(kafkaConnection({ servers: brokers }), wire.reach);
    const address = await createTopic(client);
    const message = outgoing('a');
    wire.answer(code);

    const { outcomes } = await publishTo(transport, address, [message]);

    expect((await readTopic(client, address)).map(({ id }) => id)).toEqual([message.id]);
    const [outcome] = outcomes;
    expect(
      outcome?.kind === 'ambiguous' || (outcome?.kind === 'deferred' && outcome.onWire),
      outcome?.kind,
    ).toBe(true);
    await transport.close();
    await wire.close();
  },
);

test('of a batch that is stored and answered with UNKNOWN_SERVER_ERROR, the part that is not sent again counts as possibly stored', {
  tags: ['inconclusive-may-be-stored'],
}, async () => {
  const wire = await answeringWire(brokers);
  const transport = kafkaOver(kafkaConnection({ servers: brokers }), wire.reach);
  const address = await createTopic(client);
  const messages = [outgoing('a'), outgoing('a'), outgoing('a')];
  wire.answer(-1);

  const { outcomes } = await publishTo(transport, address, messages);

  expect(outcomes).toMatchObject([
    { kind: 'ambiguous', error: expect.stringMatching(/^UNKNOWN_SERVER_ERROR: /) },
    { kind: 'blocked', onWire: true },
    { kind: 'blocked', onWire: true },
  ]);
  const first = [...new Set((await readTopic(client, address)).map(({ id }) => id))];
  expect(first).toEqual(messages.map(({ id }) => id));
  await transport.close();
  await wire.close();
});

test('F23: a clock two hours ahead uses up no attempt: messages wait, and the hold names the clock', {
  tags: ['wrong-clock-spends-no-attempts'],
}, async () => {
  const transport = kafka({ servers: brokers });
  const address = await createTopic(client);
  const messages = [outgoing('a'), outgoing('b')];
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 60 * 60_000 });
  const skewed = new Date().toISOString().slice(0, 16);

  const ahead = await publishTo(transport, address, messages);
  vi.useRealTimers();
  const right = await publishTo(transport, address, messages);

  expect(ahead.outcomes).toEqual(messages.map(() => ({ kind: 'deferred', onWire: false })));
  expect(ahead.hold).toEqual({
    scope: 'topic',
    reason: expect.stringMatching(new RegExp(`^INVALID_TIMESTAMP: .*clock says ${skewed}`)),
  });
  expect(countKinds(right)).toEqual({ acknowledged: 2 });
  expect(await readTopic(client, address)).toHaveLength(2);
  await transport.close();
});

test('a topic that keeps refusing, so that certainly nothing is stored, is not paused', async () => {
  const transport = kafka({ servers: brokers });
  const address = await createTopic(client);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 60 * 60_000 });
  for (let refusals = 0; refusals < 8; refusals += 1) {
    const { outcomes, hold } = await publishTo(transport, address, [outgoing('a')]);
    expect(outcomes).toEqual([{ kind: 'deferred', onWire: false }]);
    expect(hold?.reason).toMatch(/^INVALID_TIMESTAMP: /);
  }
  vi.useRealTimers();

  await transport.probe(address);

  expect(countKinds(await publishTo(transport, address, [outgoing('a')]))).toEqual({ acknowledged: 1 });
  await transport.close();
});

test('after the answer of a broker that no longer leads a partition the next publish looks up the leader', async () => {
  const wire = await answeringWire(brokers);
  const transport = kafkaOver(kafkaConnection({ servers: brokers }), wire.reach);
  const address = await createTopic(client);
  await publishTo(transport, address, [outgoing('a')]);
  wire.answer(6);
  await publishTo(transport, address, [outgoing('a')]);
  wire.answer(undefined);
  const watched = watchWire();

  const result = await publishTo(transport, address, [outgoing('a')]);

  const asked = watched.requests(kafkaRequests.metadata).filter((body) => body.includes(address));
  vi.restoreAllMocks();
  expect(countKinds(result)).toEqual({ acknowledged: 1 });
  expect(asked).not.toEqual([]);
  await transport.close();
  await wire.close();
});

test('a message that could not be sent does not clear the doubts of a partition', async () => {
  // Pauses last as long as this clock does not move.
  vi.useFakeTimers({ toFake: ['performance'] });
  const wire = await answeringWire(brokers);
  let away = false;
  const nowhere = { host: '127.0.0.1', port: 1 };
  const transport = kafkaOver(kafkaConnection({ servers: brokers }), (address) =>
    away ? nowhere : wire.reach(address),
  );
  const address = await createTopic(client);
  const send = () => publishTo(transport, address, [outgoing('a')]);
  await send();
  const doubt = { outcomes: [{ kind: 'deferred', onWire: true }] };
  wire.answer(7);
  for (let doubts = 0; doubts < 3; doubts += 1) expect(await send()).toMatchObject(doubt);
  away = true;
  wire.cut();
  expect(await send()).toMatchObject({ outcomes: [{ kind: 'deferred', onWire: false }] });
  away = false;

  expect(await send()).toMatchObject(doubt);

  await expect(transport.probe(address)).rejects.toThrow(/outcome of 4 requests in a row unknown/);
  await transport.close();
  await wire.close();
});
