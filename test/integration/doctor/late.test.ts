import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, inject, type TestContext, test } from 'vitest';
import { memoryTransport } from '../../../src/brokers/memory/memory-transport.ts';
import { redisStream } from '../../../src/transports.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { diagnosed, examined } from '../../support/fixtures/doctor.ts';
import { numbered } from '../../support/fixtures/stage.ts';

/** A port whose first `silent` connections get no answer; later ones reach the target. */
async function lateServer(context: TestContext, target: URL, silent = Infinity): Promise<string> {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined));
    accepted += 1;
    if (accepted <= silent) return;
    const there = connect(Number(target.port), target.hostname);
    open.add(there.on('error', () => socket.destroy()));
    socket.pipe(there).pipe(socket);
    socket.on('close', () => there.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function through(url: string, host: string): string {
  const changed = new URL(url);
  changed.host = host;
  return changed.href;
}

test('a server that answers the second attempt is examined like any other', async (context) => {
  const { url } = await ownDatabase();
  const late = through(url, await lateServer(context, new URL(url), 1));
  const answers = await examined({ database: { url: late } });

  expect(answers.get('postgres')).toBeUndefined();
  expect(answers.get('postgres version')).toMatchObject({ state: 'ok' });
});

test('a server that does not answer in time counts neither as dead nor as healthy, and hides no other', async (context) => {
  const { url } = await ownDatabase();
  const late = through(url, await lateServer(context, new URL(url)));
  const config = {
    database: { url: late },
    temporal: { address: inject('temporalAddress') },
    topics: [numbered('orders', { transport: 'redis' })],
    transports: { memory: memoryTransport(), redis: redisStream({ url: inject('redisUrl') }) },
  };
  const { answers, code, stdout } = await diagnosed(config);

  expect(answers.get('postgres')).toMatchObject({
    state: 'unexamined',
    message: expect.stringContaining('says nothing about the server'),
  });
  for (const check of ['temporal', 'redis', 'memory'])
    expect(answers.get(check)).toMatchObject({ state: 'ok' });
  expect(code).toBe(3);
  expect(stdout).toContain('0 problems, 1 not examined, ');
});
