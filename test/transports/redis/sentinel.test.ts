import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openContext } from '../../../dev/servers/open-context.ts';
import { freePort } from '../../../dev/servers/process/free-port.ts';
import { redisFromRegistry, redisOnPath } from '../../../dev/servers/redis/redis-program.ts';
import { redisStream } from '../../../src/transports.ts';
import { ownCache } from '../../support/fixtures/local-cache.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { streamMessages } from '../../support/fixtures/redis-contents.ts';
import { until } from '../../support/fixtures/until.ts';
import { joins } from './member.ts';
import { messagesOf, publish } from './publishing.ts';

async function redisProgram(): Promise<string> {
  const context = await openContext(await ownCache());
  for (const candidate of [await redisOnPath(context), await redisFromRegistry(context)])
    if ('found' in candidate) return candidate.found;
  throw new Error('No program of Redis.');
}

/** A Sentinel that watches this primary, and promotes its replica soon after it has died. */
async function ownSentinel(primary: string) {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-sentinel-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const port = await freePort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor orders 127.0.0.1 ${new URL(primary).port} 1`,
    'sentinel down-after-milliseconds orders 500',
    'sentinel failover-timeout orders 5000',
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const child = spawn(await redisProgram(), [file, '--sentinel'], { stdio: 'ignore' });
  onTestFinished(async () => {
    if (child.exitCode === null) child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const url = `redis://127.0.0.1:${port}`;
  await until(() =>
    redisAt(url).then(
      () => true,
      () => false,
    ),
  );
  const client = await redisAt(url);
  return {
    url,
    /** As an application asks it. */
    async primary(): Promise<string> {
      const [host = '', at = ''] = await client.sendCommand<string[]>([
        'SENTINEL',
        'GET-MASTER-ADDR-BY-NAME',
        'orders',
      ]);
      return `redis://${host}:${at}`;
    },
    async replicas(): Promise<number> {
      return (await client.sendCommand<unknown[]>(['SENTINEL', 'REPLICAS', 'orders'])).length;
    },
  };
}

test('a failover by Sentinel is followed by a url that is a function: sender and consumer go on, and with replicas nothing acknowledged is lost', {
  tags: ['redis-keeps-what-it-acknowledged'],
}, async () => {
  const first = await ownRedis();
  // Two, so that the new primary has one as soon as it is one.
  for (let n = 0; n < 2; n += 1) await ownRedis(['--replicaof', '127.0.0.1', new URL(first.url).port]);
  const sentinel = await ownSentinel(first.url);
  await until(async () => (await sentinel.replicas()) === 2, 60_000);
  let primary = await sentinel.primary();
  const transport = redisStream({ url: () => primary, replicas: 1, requestTimeout: 500 });
  onTestFinished(() => transport.close());
  const acknowledged: string[] = [];
  const send = async (): Promise<void> => {
    const messages = messagesOf(['k'], 10);
    const { outcomes } = await publish(transport, 'orders', messages);
    acknowledged.push(...messages.filter((_, n) => outcomes[n]?.kind === 'acknowledged').map(({ id }) => id));
  };
  const member = await joins(redisStream({ url: () => primary, requestTimeout: 500 }).source(), 'orders');
  await until(async () => {
    await send();
    return acknowledged.length >= 50;
  }, 60_000);

  await first.node.stop('SIGKILL');
  const before = acknowledged.length;
  await until(async () => {
    primary = await sentinel.primary();
    return primary !== first.url;
  }, 60_000);
  await until(async () => {
    await send();
    return acknowledged.length >= before + 50;
  }, 60_000);
  const stored = new Set((await streamMessages(await redisAt(primary), 'orders')).map(({ id }) => id));
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  const receivedIds = () => new Set(member.received.map((message) => message.header('ce_id') ?? ''));
  await until(() => acknowledged.every((id) => receivedIds().has(id)));
  expect(member.errors).not.toEqual([]);
});

test('a Sentinel is refused by name', async () => {
  const server = await ownRedis();
  const sentinel = await ownSentinel(server.url);
  const transport = redisStream({ url: sentinel.url });
  onTestFinished(() => transport.close());

  await expect(transport.probe('orders')).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNFIT',
    message: expect.stringMatching(/ is a Sentinel, which keeps no messages\. Ask it for the primary/),
  });
});
