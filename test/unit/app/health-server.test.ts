import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { healthServer } from '../../../src/app/health-server.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import type { Health } from '../../../src/core/health.ts';

const since = new Date('2026-01-02T03:04:05Z');

/** A server of this health, and what it answers. */
async function served(health: Health) {
  const server = await healthServer({ health: () => health }, { host: '127.0.0.1', port: 0 });
  const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method });
  const answers = await Promise.all(['/live', '/ready', '/started?from=kubelet'].map((path) => ask(path)));
  return { server, ask, statuses: answers.map(({ status }) => status) };
}

test.for([
  ['starting', false, [200, 503, 503]],
  ['running', true, [200, 200, 200]],
  ['running', false, [200, 503, 200]],
  ['stopping', false, [200, 503, 200]],
  ['stopped', false, [503, 503, 503]],
] as const)(
  '%s, joined %s: /live, /ready and /started answer %s',
  { tags: ['probes-restart-nothing'] },
  async ([state, joined, wanted], { onTestFinished }) => {
    const { server, statuses } = await served({ state, joined, lastProgressAt: null, failing: [] });
    onTestFinished(() => server.stop());

    expect(statuses).toEqual(wanted);
  },
);

test('an answer says what is failing since when, and never the text of an error', {
  tags: ['probes-restart-nothing'],
}, async ({ onTestFinished }) => {
  const away = new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'postgresql://me:secret@here does not answer.');
  const { server, ask } = await served({
    state: 'running',
    joined: true,
    lastProgressAt: since,
    failing: [
      { what: 'PostgreSQL', since, error: away },
      { what: 'partition orders/3', since, error: 'Error: secret' },
      { what: 'lane orders/0', since, error: 'secret' },
    ],
  });
  onTestFinished(() => server.stop());
  const at = since.toISOString();

  expect(await (await ask('/live')).json()).toEqual({
    state: 'running',
    joined: true,
    lastProgressAt: at,
    failing: [
      { what: 'PostgreSQL', since: at, code: 'OUTBOX_SERVER_UNAVAILABLE' },
      { what: 'partition orders/3', since: at },
      { what: 'lane orders/0', since: at },
    ],
  });
});

test('it answers only questions at its three paths, and ends its connections when stopped', async () => {
  const { server, ask } = await served({ state: 'running', joined: true, lastProgressAt: null, failing: [] });

  const others = await Promise.all([
    ask('/'),
    ask('/constructor'),
    ask('/live', 'POST'),
    ask('/live', 'HEAD'),
  ]);
  expect(others.map(({ status }) => status)).toEqual([404, 404, 405, 200]);
  await server.stop();
  await expect(ask('/live')).rejects.toThrow('fetch failed');
});

test('an address that cannot be had, and options that are none, are refused', async ({ onTestFinished }) => {
  const { server } = await served({ state: 'running', joined: true, lastProgressAt: null, failing: [] });
  onTestFinished(() => server.stop());
  const of = {
    health: (): Health => ({ state: 'running', joined: true, lastProgressAt: null, failing: [] }),
  };

  await expect(healthServer(of, { host: '127.0.0.1', port: server.port })).rejects.toMatchObject({
    code: 'OUTBOX_PORT_UNAVAILABLE',
    details: { host: '127.0.0.1', port: server.port },
  });
  await expect(healthServer(of, { port: 65_536 })).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    details: { option: 'port' },
  });
});

test('two hundred silent connections keep no probe out', { tags: ['probes-restart-nothing'] }, async ({
  onTestFinished,
}) => {
  const { server } = await served({ state: 'running', joined: true, lastProgressAt: null, failing: [] });
  const silent: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of silent) socket.destroy();
    await server.stop();
  });
  for (let n = 0; n < 200; n += 1) {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
    silent.push(socket);
    await once(socket, 'connect');
  }
  // As the kubelet does, over a connection of its own.
  const probe = get({ port: server.port, host: '127.0.0.1', path: '/live', agent: false });
  const [answer] = (await once(probe, 'response')) as [IncomingMessage];
  expect(answer.resume().statusCode).toBe(200);
});
