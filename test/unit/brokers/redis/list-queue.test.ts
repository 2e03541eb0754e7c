import { expect, test } from 'vitest';
import { envelopeText } from '../../../../src/brokers/redis/client/message-format.ts';
import type { RedisClient } from '../../../../src/brokers/redis/client/open-client.ts';
import { ListQueue } from '../../../../src/brokers/redis/source/list-queue.ts';

const lease = { holder: 'stock/1', leaseMs: 6_000 };

/** A server that gives this answer; of scripts it notes what follows them. */
function server(answer?: unknown) {
  const commands: unknown[] = [];
  const client = {
    async sendCommand([name, , ...args]: readonly string[]) {
      commands.push([name, ...args]);
      return answer;
    },
  } as unknown as RedisClient;
  return { client, commands };
}

test('a read takes the lease and numbers each value from the count of the done ones', async () => {
  const ours = envelopeText({ id: 'a', key: 'k', sentAtMs: 1_000, headers: { h: 'v' }, payload: '{}' });
  const { client, commands } = server([
    Buffer.from(''),
    Buffer.from('9007199254740993'),
    [Buffer.from(ours), Buffer.from('foreign')],
  ]);

  const read = await new ListQueue('orders', 'stock').read(client, lease, 2_001);

  expect(read).toMatchObject({
    kind: 'mine',
    bytes: ours.length + 'foreign'.length,
    notices: [],
    messages: [
      {
        address: 'orders',
        partition: 0,
        offset: '9007199254740993',
        key: 'k',
        headers: { h: 'v' },
        body: Buffer.from('{}'),
        timestamp: new Date(1_000),
      },
      { address: 'orders', offset: '9007199254740994', key: null, headers: {}, body: Buffer.from('foreign') },
    ],
  });
  const keys = ['4', 'orders:reader', 'orders', 'orders:processing', 'orders:done'];
  expect(commands).toEqual([['EVAL', ...keys, 'stock/1', '6000', '2000']]);
});

test('another holder is reported, and is a conflict if it is of another group', async () => {
  const queue = new ListQueue('orders', 'stock');

  expect(await queue.read(server([Buffer.from('other/2')]).client, lease, 1)).toEqual({
    kind: 'taken',
    holder: 'other/2',
  });
  expect(queue.conflict('stock/2')).toBeUndefined();
  expect(queue.conflict('stock/more/2')).toMatchObject({
    code: 'OUTBOX_GROUP_REFUSED',
    details: { address: 'orders', group: 'stock', reader: 'stock/more' },
  });
});
