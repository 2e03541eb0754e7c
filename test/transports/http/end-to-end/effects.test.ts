import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { clientOf, receiveNode } from '../../../../src/http.ts';
import { send } from '../../../../src/outbox/send.ts';
import { numbered, openStage } from '../../../support/fixtures/stage.ts';
import { until } from '../../../support/fixtures/until.ts';
import { secret } from '../http-endpoint.ts';

const messages = 200;
const keys = 5;

test('each effect occurs once, in order per key, while relays and the server are killed and answers are lost', {
  tags: ['http-effect-once'],
}, async () => {
  const server = createServer();
  const port = await listen(server, 0);
  onTestFinished(() => stop(server));
  const address = `http://127.0.0.1:${port}/deduct`;
  const posted = numbered('deduct', { address, retry: Array.from({ length: 60 }, () => '100ms' as const) });
  const stage = await openStage({ onTestFinished }, { topics: [posted] });
  await stage.database.query('create table effect (arrival bigserial, key text, n integer)');
  const pool = new pg.Pool({ connectionString: stage.url });
  onTestFinished(() => pool.end());

  let requests = 0;
  let lost = 0;
  server.on('request', (request, response) => {
    requests += 1;
    if (requests % 15 === 0) {
      lost += 1;
      // The work is done, but not answered.
      response.end = () => response.destroy();
    }
    const options = { client: clientOf(pool), group: 'inventory', secret, report: () => undefined };
    receiveNode(request, response, options, async (tx, { key, payload }) => {
      await tx.query('insert into effect (key, n) values ($1, $2)', [key, (payload as { n: number }).n]);
    }).catch(() => response.destroy());
  });

  const effects = () =>
    stage.database.query<{ key: string; n: number }>('select key, n from effect order by arrival');
  const write = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n += 1)
      await stage.commit((tx) => send(tx, posted, { n }, { key: `k${n % keys}` }));
  };
  let relay = await stage.relayProcess({ http: { secret } });
  await write(0, messages / 2);
  await until(async () => (await effects()).length > 30);
  relay.signal('SIGKILL');
  await relay.exited;
  relay = await stage.relayProcess({ http: { secret } });
  await stop(server);
  await write(messages / 2, messages);
  await until(() => relay.events.some(({ type }) => type === 'hold-began'));
  await listen(server, port);
  await until(async () => (await effects()).length >= messages, 45_000);

  const done = await effects();
  expect(done).toHaveLength(messages);
  for (let k = 0; k < keys; k += 1)
    expect(done.filter(({ key }) => key === `k${k}`).map(({ n }) => n)).toEqual(
      Array.from({ length: messages / keys }, (_, index) => index * keys + k),
    );
  expect(lost).toBeGreaterThan(5);
});

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  if (server.listening) await new Promise((closed) => server.close(closed));
}
