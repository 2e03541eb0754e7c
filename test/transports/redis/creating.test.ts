import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { redisList, redisStream } from '../../../src/transports.ts';
import { creationContract } from '../../support/fixtures/creation-contract.ts';
import { redisAt } from '../../support/fixtures/own-redis.ts';
import { serverUrl } from './redis-subject.ts';

function groupsAt(url = serverUrl) {
  const transport = redisStream({ url });
  onTestFinished(() => transport.close());
  const { groups } = transport;
  if (groups === undefined) throw new Error('It declares none.');
  return groups;
}

creationContract('redis-stream', () => ({
  transport: redisStream({ url: serverUrl }),
  address: `orders-${randomUUID()}`,
  group: 'billing',
}));

test('a group that is created begins with the oldest entry of a stream that exists', async () => {
  const address = `orders-${randomUUID()}`;
  const client = await redisAt(serverUrl);
  await client.xAdd(address, '*', { payload: '1' });

  await groupsAt().create('billing', [address]);

  expect(await client.xInfoGroups(address)).toMatchObject([{ name: 'billing', 'last-delivered-id': '0-0' }]);
});

test('a key of another type is an error, and so is a right that the user does not have', async () => {
  const address = `orders-${randomUUID()}`;
  const client = await redisAt(serverUrl);
  await client.lPush(address, 'x');

  await expect(groupsAt().create('billing', [address])).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_UNFIT',
    message: expect.stringMatching(new RegExp(`the group billing of the stream ${address}.*WRONGTYPE`)),
  });

  const name = `reader-${randomUUID()}`;
  await client.sendCommand(['ACL', 'SETUSER', name, 'on', '>secret', '~*', '+@connection', '+xinfo']);
  onTestFinished(async () => {
    await client.sendCommand(['ACL', 'DELUSER', name]);
  });
  const groups = groupsAt(serverUrl.replace('redis://', `redis://${name}:secret@`));
  expect(await groups.missing('billing', ['nothing-here'])).toHaveLength(1);
  await expect(groups.create('billing', ['nothing-here'])).rejects.toMatchObject({
    code: 'OUTBOX_PRIVILEGE_MISSING',
    message: expect.stringMatching(/the group billing of the stream nothing-here: NOPERM/),
  });
});

test('a server that is away is an error of the server', async () => {
  const groups = groupsAt('redis://127.0.0.1:1');
  const unavailable = { code: 'OUTBOX_SERVER_UNAVAILABLE' };

  await expect(groups.create('billing', ['orders'])).rejects.toMatchObject(unavailable);
  await expect(groups.missing('billing', ['orders'])).rejects.toMatchObject(unavailable);
});

test('lists declare no groups: nothing has to be created', () => {
  expect(redisList({ url: serverUrl }).groups).toBeUndefined();
});
