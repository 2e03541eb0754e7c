import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { envelopeText } from '../../../src/brokers/redis/client/message-format.ts';
import {
  type SourceAbility,
  type SourceMessage,
  type SourceSubject,
  sourceContract,
} from '../../../src/testing.ts';
import { type ReceivingTransport, redisList, redisStream } from '../../../src/transports.ts';
import { type Observer, observer, serverUrl } from './redis-subject.ts';

type Send = (client: Observer, address: string, messages: readonly SourceMessage[]) => Promise<unknown>;

/** As `redisStream` adds them, and as anybody may. */
const toStream: Send = (client, address, messages) =>
  Promise.all(
    messages.map(({ body, headers, key }) => {
      const fields: Record<string, string> = { ...(key !== null && { key }), payload: body ?? '' };
      for (const [name, value] of Object.entries(headers)) fields[`header:${name}`] = value;
      return client.xAdd(address, '*', fields);
    }),
  );

const toList: Send = (client, address, messages) =>
  client.rPush(
    address,
    messages.map(({ body, headers, key }) =>
      envelopeText({ id: randomUUID(), key, headers, payload: body ?? '', sentAtMs: Date.now() }),
    ),
  );

async function subject(transport: ReceivingTransport, send: Send): Promise<SourceSubject> {
  const client = await observer();
  return {
    source: transport.source(),
    addresses: [`source-${randomUUID()}`, `source-${randomUUID()}`],
    partitions: 1,
    send: async (address, messages) => void (await send(client, address, messages)),
    async dispose() {
      client.destroy();
    },
  };
}

describe.each<readonly [string, (url: string) => ReceivingTransport, Send, SourceAbility[], number]>([
  ['redisStream', (url) => redisStream({ url }), toStream, ['order', 'history', 'groups'], 17],
  [
    'redisStream without order',
    (url) => redisStream({ url, order: false }),
    toStream,
    ['history', 'groups'],
    15,
  ],
  ['redisList', (url) => redisList({ url }), toList, ['order', 'history'], 15],
])('%s', (_name, make, send, abilities, expected) => {
  const { cases, skipped } = sourceContract(() => subject(make(serverUrl), send), abilities);

  test('runs every case of the contract except those of partitions, missing bodies and abilities that it lacks', () => {
    expect(cases).toHaveLength(expected);
    expect(new Set(skipped.flatMap(({ missing }) => missing))).toEqual(
      new Set(
        (['partitions', 'empty-body', 'order', 'groups'] as const).filter((one) => !abilities.includes(one)),
      ),
    );
  });

  for (const { name, run } of cases) test(name, run);
});
