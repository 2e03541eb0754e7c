import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RocketmqOptions } from '../../../src/transports.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import {
  callsWith,
  type EnforcedRocketmq,
  each,
  groupOf,
  outcomesOf,
  startEnforced,
} from './enforced-stage.ts';
import { batchOf, receiving, stored } from './traffic.ts';

let server: EnforcedRocketmq;
/** Topic and group are there. */
const known = `orders-${randomUUID()}`;

beforeAll(async () => {
  server = await startEnforced();
  const { toBrokers, transport } = callsWith(server.right, known);
  for (const call of Object.values(toBrokers)) await call();
  await stored(transport, known, {});
});
afterAll(() => server.stop());

const sendOnce = (address: string) => batchOf(address, {});

test('over TLS, a user creates, sends, receives and reads offsets by its privileges, and is told which ones are missing elsewhere', async () => {
  const address = `bills-${randomUUID()}`;
  const group = groupOf(address);
  const options = await server.userWith({
    [`Topic:${address}`]: ['Pub', 'Sub', 'Get', 'Create'],
    [`Group:${group}`]: ['Sub', 'Get', 'Create'],
  });
  const { toBrokers, transport } = callsWith(options, address);

  expect(await outcomesOf(toBrokers)).toEqual(each(toBrokers, 'done'));
  await stored(transport, address, { id: 'm-1' });
  const member = await receiving(transport.source(), { addresses: [address], group });
  await expect.poll(() => member.arrived.map((message) => message.header('ce_id'))).toContain('m-1');
  await expect
    .poll(() => transport.offsets?.lags([group], [address]))
    .toEqual([{ group, address, messages: 0 }]);

  const { hold } = await transport.publish(sendOnce(known));
  // Only what the user may not use waits.
  expect(hold).toMatchObject({ scope: 'topic', reason: expect.stringContaining('no permission') });
  const others = callsWith(options, known);
  const refused = expect.stringMatching(/^OUTBOX_PRIVILEGE_MISSING: .*no permission to access/);
  const { 'read settings for doctor': _free, ...guarded } = others.toBrokers;
  expect(await outcomesOf(guarded)).toEqual(each(guarded, refused));
  expect(await outcomesOf(others.toProxies)).toEqual(each(others.toProxies, refused));
});

test('who only sends, receives or reads needs no other privilege than the page says', async () => {
  const [topic, group] = [`Topic:${known}`, `Group:${groupOf(known)}`];
  const allowed = async (actions: Readonly<Record<string, readonly string[]>>) =>
    callsWith(await server.userWith(actions), known);
  const sender = await allowed({ [topic]: ['Pub'] });
  const receiver = await allowed({ [topic]: ['Sub'], [group]: ['Sub'] });
  const reader = await allowed({ [topic]: ['Get'], [group]: ['Get'] });

  expect(await sender.transport.publish(sendOnce(known))).toMatchObject({
    outcomes: [{ kind: 'acknowledged' }],
  });
  expect(await outcomesOf(receiver.toProxies)).toEqual(each(receiver.toProxies, 'done'));
  expect(await outcomesOf(reader.toBrokers)).toEqual(each(reader.toBrokers, 'done'));
});

const strangers: readonly [string, Partial<RocketmqOptions>, RegExp][] = [
  ['a wrong secret', { secretKey: 'wrong' }, /check signature failed/],
  ['an unknown user', { accessKey: 'bob' }, /User:bob is not found/],
];

test.each(strangers)(
  'with %s, every call says that the user is refused, and all topics wait',
  { tags: ['unreachable-is-visible'] },
  async (_what, given, reason) => {
    const { toBrokers, toProxies, transport } = callsWith({ ...server.right, ...given }, known);
    const refused = expect.stringMatching(new RegExp(`^OUTBOX_SERVER_REFUSED: .*${reason.source}`));

    expect(await outcomesOf(toBrokers)).toEqual(each(toBrokers, refused));
    expect(await outcomesOf(toProxies)).toEqual(each(toProxies, refused));
    expect(await transport.publish(sendOnce(known))).toMatchObject({
      outcomes: [{ kind: 'deferred', onWire: false }],
      hold: { scope: 'transport', reason: expect.stringMatching(reason) },
    });
  },
);

test('without a user, every call says that one is needed', async () => {
  const { accessKey: _name, secretKey: _secret, ...nobody } = server.right;
  const { toBrokers, toProxies } = callsWith(nobody, known);
  const refused = expect.stringMatching(/^OUTBOX_SERVER_REFUSED: .*username cannot be null/);

  expect(await outcomesOf(toBrokers)).toEqual(each(toBrokers, refused));
  expect(await outcomesOf(toProxies)).toEqual(each(toProxies, refused));
});

const failed = /^OUTBOX_TLS_FAILED: .*unable to verify the first certificate/;
const closed = /^OUTBOX_SERVER_UNAVAILABLE: .* the connection, as one does that wants TLS/;
const done = /^done$/;

test.each<[string, (ca: string) => Partial<RocketmqOptions>, RegExp, RegExp]>([
  ['another CA', () => ({ tls: { ca: testAuthority('own').ca } }), failed, failed],
  ['the CAs of Node', () => ({ tls: true }), failed, failed],
  ['no TLS', () => ({ tls: false }), closed, closed],
  ['TLS with proxies only', () => ({ brokerTls: false }), closed, done],
  ['TLS of its own with brokers', (ca) => ({ tls: true, brokerTls: { ca } }), done, failed],
])(
  'with %s, every call to servers that enforce TLS says what is wrong with it',
  { tags: ['unreachable-is-visible'] },
  async (_what, given, ofBrokers, ofProxies) => {
    const { toBrokers, toProxies } = callsWith({ ...server.right, ...given(server.right.tls.ca) }, known);

    expect(await outcomesOf(toBrokers)).toEqual(each(toBrokers, expect.stringMatching(ofBrokers)));
    expect(await outcomesOf(toProxies)).toEqual(each(toProxies, expect.stringMatching(ofProxies)));
  },
);
