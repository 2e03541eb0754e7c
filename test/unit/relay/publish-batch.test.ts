import { expect, test } from 'vitest';
import { z } from 'zod';
import type { PublishResult } from '../../../src/brokers/transport.ts';
import { topic } from '../../../src/core/topic.ts';
import { publishBatch } from '../../../src/relay/publish-batch.ts';
import { claimedMessage, claimOf } from '../../support/fixtures/claimed-messages.ts';
import { ScriptedBroker } from '../../support/kafka/scripted-broker.ts';

/** Publishes two messages of one key and one blocked one through a broker. */
async function publish(broker: ScriptedBroker) {
  const route = { name: 'orders', rules: topic('orders', z.unknown()).rules, transport: broker };
  const messages = [
    claimedMessage(1, { key: 'k' }),
    claimedMessage(2, { key: 'k' }),
    claimedMessage(3, { key: 'l', blocked: true }),
  ];
  return publishBatch(route, '/s', 1, claimOf(messages), new AbortController().signal);
}

test('blocked messages are not passed to the transport', async () => {
  const broker = new ScriptedBroker();

  const { outcomes, hold } = await publish(broker);

  expect(broker.batches).toEqual([['id-1', 'id-2']]);
  expect(outcomes.map((outcome) => outcome?.kind)).toEqual(['acknowledged', 'acknowledged', undefined]);
  expect(hold).toBeUndefined();
});

test('expired messages are not passed to the transport, also blocked ones', async () => {
  const broker = new ScriptedBroker();
  const route = { name: 'orders', rules: topic('orders', z.unknown()).rules, transport: broker };
  const expired = { expiresAt: '2026-01-02T03:04:05.678Z', expiresBy: performance.now() };
  const later = { ...expired, expiresBy: performance.now() + 60_000 };
  const sent = (...messages: Parameters<typeof claimOf>[0]) =>
    publishBatch(route, '/s', 1, claimOf(messages), new AbortController().signal);

  const { outcomes } = await sent(
    claimedMessage(1, expired),
    claimedMessage(2, later),
    claimedMessage(3, { ...expired, key: 'l', blocked: true }),
    claimedMessage(4, { ...later, key: 'l', blocked: true }),
    claimedMessage(5, { ...expired, expiresBy: null }),
  );
  const none = await sent(claimedMessage(6, expired));

  expect(broker.batches).toEqual([['id-2', 'id-5']]);
  const kinds = ['expired', 'acknowledged', 'expired', undefined, 'acknowledged'];
  expect(outcomes.map((outcome) => outcome?.kind)).toEqual(kinds);
  expect(none.outcomes).toEqual([{ kind: 'expired' }]);
});

test('a transport that throws may have sent anything: a hold with all messages on the wire', async () => {
  const broker = new ScriptedBroker();
  broker.after = () => Promise.reject(new Error('broken transport'));

  const { outcomes, hold } = await publish(broker);

  expect(outcomes).toEqual([
    { kind: 'deferred', onWire: true },
    { kind: 'deferred', onWire: true },
    undefined,
  ]);
  expect(hold).toEqual({ scope: 'topic', reason: 'broken transport' });
});

test('a message without an answer is ambiguous', async () => {
  const broker = new ScriptedBroker();
  const short: PublishResult = { outcomes: [{ kind: 'acknowledged', partition: 0, offset: '0' }] };
  broker.publish = async () => short;

  const { outcomes } = await publish(broker);

  expect(outcomes[1]).toMatchObject({ kind: 'ambiguous' });
});
