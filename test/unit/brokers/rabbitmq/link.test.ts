import { expect, test } from 'vitest';
import { amqplib } from '../../../../src/brokers/rabbitmq/client/amqplib.ts';
import { type Link, openLink } from '../../../../src/brokers/rabbitmq/client/link.ts';
import { rabbitmqSettings } from '../../../../src/brokers/rabbitmq/transport/rabbitmq-options.ts';
import { fakeTimeUntilEnd, pass, soFar } from '../../../support/fixtures/fake-time.ts';
import { type ScriptedRabbitmq, scriptedRabbitmq } from '../../../support/rabbitmq/scripted-rabbitmq.ts';
import { overWire, untilOnWire } from '../../../support/rabbitmq/wire-time.ts';

async function stage(requestTimeout = 5_000) {
  const server = await scriptedRabbitmq();
  // It keeps the timers that it finds when it is loaded.
  amqplib();
  fakeTimeUntilEnd();
  const open = (...urls: readonly string[]): Promise<Link> =>
    openLink(rabbitmqSettings({ url: urls, requestTimeout, heartbeat: '60s' }).connection, 'a test');
  return { server, open };
}

const question = (link: Link): Promise<unknown> => link.ask((model) => model.createChannel());
const asked = (server: ScriptedRabbitmq): boolean => server.times('ChannelOpen') > 0;
const silence = 'The server gave no answer within 5000 ms.';

test('the first server that answers is used, with the name and the user of the connection', async () => {
  const { open, server } = await stage();

  const link = await overWire(open('amqp://127.0.0.1:1', server.url, 'amqp://127.0.0.1:2'));

  expect(server.logins).toEqual([{ name: 'a test', user: 'guest' }]);
  expect([link.server, link.reason, link.blocked]).toEqual(['RabbitMQ 3.13.0', undefined, undefined]);
});

test.each([
  [5_000, 3_000],
  [1_000, 1_000],
])('with a limit of %i ms for answers, a server may take %i ms to greet', async (limitMs, greetMs) => {
  const { open, server } = await stage(limitMs);
  server.mute.add('greeting');
  const opening = soFar(open(server.url));
  await untilOnWire(() => server.connections.ever === 1);

  await pass(greetMs - 1);
  const before = opening.state;
  await pass(1);
  await untilOnWire(() => opening.state !== 'open');
  await untilOnWire(() => server.connections.open === 0);

  expect(before).toBe('open');
  expect(String(opening.error)).toContain(
    `127.0.0.1:${server.port}: The server gave no answer within ${greetMs} ms.`,
  );
});

test('a question without an answer in time cuts the connection, which ends all others for that reason', async () => {
  const { open, server } = await stage();
  const link = await overWire(open(server.url));
  server.mute.add('ChannelOpen');
  const first = soFar(question(link));
  await pass(1_000);
  const second = soFar(question(link));
  await pass(3_999);
  const before = [first.state, link.reason];
  await pass(1);
  await untilOnWire(() => second.state !== 'open');
  await untilOnWire(() => server.connections.open === 0);

  expect(before).toEqual(['open', undefined]);
  expect([first, second].map(({ error }) => String(error))).toEqual([
    `Error: ${silence}`,
    `Error: ${silence}`,
  ]);
  expect(String(await overWire(link.ended))).toBe(`Error: ${silence}`);
  await expect(overWire(question(link))).rejects.toThrow(silence);
});

test('an answer in time leaves nothing that could cut the connection', async () => {
  const { open, server } = await stage();
  const link = await overWire(open(server.url));
  await overWire(question(link));

  await pass(20_000);
  await overWire(question(link));

  expect(link.reason).toBeUndefined();
});

test('a server that blocks its publishers need not answer: the connection stays open', async () => {
  const { open, server } = await stage();
  const link = await overWire(open(server.url));
  const told: string[] = [];
  link.whenBlocked((reason) => told.push(reason));
  server.mute.add('ChannelOpen');
  const late = soFar(question(link));
  await untilOnWire(() => asked(server));
  server.block('low on memory');
  await untilOnWire(() => link.blocked !== undefined);
  await pass(5_000);
  const then = [link.blocked, link.reason, String(late.error)];
  server.block();
  await untilOnWire(() => link.blocked === undefined);

  expect(then).toEqual([
    'low on memory',
    undefined,
    'Error: The server blocks its publishers: low on memory.',
  ]);
  expect(told).toEqual(['low on memory']);
  expect(server.connections).toEqual({ ever: 1, open: 1 });
});

test('a connection is closed cleanly, and once', async () => {
  const { open, server } = await stage();
  const link = await overWire(open(server.url));

  await overWire(link.end());
  await overWire(link.end());
  await untilOnWire(() => server.connections.open === 0);

  expect(server.times('ConnectionClose')).toBe(1);
  expect(String(await overWire(link.ended))).toBe('Error: The connection was closed.');
  await expect(overWire(question(link))).rejects.toThrow('The connection was closed.');
});

test('a server that does not answer a close is abandoned after a second', async () => {
  const { open, server } = await stage();
  const link = await overWire(open(server.url));
  server.mute.add('ConnectionClose');
  const closing = soFar(link.end());
  await untilOnWire(() => server.times('ConnectionClose') === 1);

  await pass(999);
  const before = closing.state;
  await pass(1);
  await untilOnWire(() => closing.state === 'resolved');
  await untilOnWire(() => server.connections.open === 0);

  expect(before).toBe('open');
});

test('a close ends at once when the connection is lost during it', async () => {
  const { open, server } = await stage();
  const link = await overWire(open(server.url));
  server.mute.add('ConnectionClose');
  const closing = soFar(link.end());
  await untilOnWire(() => server.times('ConnectionClose') === 1);

  server.cut();
  await untilOnWire(() => closing.state === 'resolved');
});

test('if no server can be used, the error has the reason of each, without credentials', async () => {
  const { open, server } = await stage();
  server.refuse = ({ name }) =>
    name === 'ConnectionStartOk' ? { code: 403, text: 'ACCESS_REFUSED', connection: true } : undefined;

  const failure = await overWire(open('amqp://user:secret@127.0.0.1:1', server.url).catch(String));

  expect(failure).toMatch(new RegExp(`127.0.0.1:1\\b.*; 127.0.0.1:${server.port}: .*ACCESS_REFUSED`));
  expect(failure).not.toContain('secret');
});
