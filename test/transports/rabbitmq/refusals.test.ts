import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PublishOutcome, RabbitmqOptions } from '../../../src/transports.ts';
import { until } from '../../support/fixtures/until.ts';
import { brokerAt } from './broker.ts';
import { type OwnNode, type OwnStage, stageAt, startOwnNode, user } from './own-node.ts';

const missing: PublishOutcome = { kind: 'ambiguous', error: 'no outcome' };
let server: OwnNode;

beforeAll(async () => {
  server = await startOwnNode();
});
afterAll(() => server.stop());

const stage = (options: Partial<RabbitmqOptions> = {}): Promise<OwnStage> => stageAt(server, options);

test('an exchange to which the user may not write holds its topic, and is tried again after a while', async () => {
  const { address, publish, transport } = await stage({
    url: server.url.replace('guest:guest', `${user}:${user}`),
  });
  const broker = await brokerAt(server.url);
  const forbidden = await broker.exchange(`forbidden-${randomUUID().slice(0, 8)}`);
  await broker.close();

  const { hold, outcomes } = await publish(forbidden, { key: 'a' }, { key: 'b' });

  expect(hold).toMatchObject({
    scope: 'topic',
    reason: expect.stringContaining('ACCESS_REFUSED - access to exchange'),
  });
  expect(outcomes).toEqual([
    { kind: 'deferred', onWire: false },
    { kind: 'deferred', onWire: false },
  ]);
  await expect(transport.probe(forbidden)).rejects.toThrow('ACCESS_REFUSED');
  expect((await publish(address, {})).hold).toBeUndefined();
});

test('a routing key that the user may not write refuses its messages alone, and the others are delivered', {
  tags: ['rabbitmq-unstored-is-unpublished'],
}, async () => {
  const { address, publish, transport } = await stage({
    url: server.url.replace('guest:guest', `${user}:${user}`),
  });
  await server.control(
    'eval',
    `rabbit_auth_backend_internal:set_topic_permissions(<<"${user}">>, <<"/">>, <<"${address}">>, <<"^open">>, <<".*">>, <<"test">>).`,
  );
  const keys = ['tenant-x', 'open-1', 'open-2', 'tenant-x', 'tenant-y', 'open-3'];
  const told = new Map<string, PublishOutcome[]>();

  // As a lane does: what was deferred is sent again, in its order.
  let left = keys.map((key, n) => ({ id: `${key}/${n}`, key }));
  for (let round = 0; left.length > 0 && round < keys.length; round += 1) {
    const { hold, outcomes } = await publish(address, ...left);
    for (const [n, { id }] of left.entries()) told.set(id, [...(told.get(id) ?? []), outcomes[n] ?? missing]);
    left = left.filter((_, n) => outcomes[n]?.kind === 'deferred');
    expect(hold?.scope).toBe(left.length === 0 ? undefined : 'topic');
    await transport.probe(address);
  }

  expect(left).toEqual([]);
  const last = Object.fromEntries([...told].map(([id, outcomes]) => [id, outcomes.at(-1)]));
  expect(last).toMatchObject({
    'tenant-x/0': { kind: 'rejected', error: expect.stringContaining(`topic 'tenant-x'`) },
    'open-1/1': { kind: 'acknowledged' },
    'open-2/2': { kind: 'acknowledged' },
    'tenant-x/3': { kind: 'blocked' },
    'tenant-y/4': { kind: 'rejected', error: expect.stringContaining(`topic 'tenant-y'`) },
    'open-3/5': { kind: 'acknowledged' },
  });
});

test('an exchange with a queue that confirms nothing is tried ever less often until it confirms', {
  tags: ['rabbitmq-unstored-is-unpublished'],
}, async () => {
  const { address, publish, transport } = await stage({ requestTimeout: '2s' });
  const queue = `element(2, rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"${address}">>)))`;
  await publish(address, {});
  await server.control('eval', `sys:suspend(amqqueue:get_pid(${queue})).`);
  const id = randomUUID();
  const open = (): Promise<boolean> =>
    transport.probe(address).then(
      () => true,
      () => false,
    );

  for (const times of [1, 2, 3]) {
    const { hold, outcomes } = await publish(address, { id });
    expect(hold).toMatchObject({ scope: 'topic', reason: expect.stringContaining('It answers otherwise') });
    expect(outcomes).toEqual([{ kind: 'deferred', onWire: true }]);
    await expect(transport.probe(address)).rejects.toThrow(`left messages in doubt ${times} times in a row`);
    expect((await publish(address, { id })).outcomes).toEqual([{ kind: 'deferred', onWire: false }]);
    await until(open);
  }

  await server.control('eval', `sys:resume(amqqueue:get_pid(${queue})).`);
  await until(async () => (await publish(address, { id })).outcomes[0]?.kind === 'acknowledged');
  expect(await open()).toBe(true);
});
