import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import {
  type RedisOptions,
  redisList,
  redisPubSub,
  redisStream,
  type Transport,
} from '../../../src/transports.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { until } from '../../support/fixtures/until.ts';
import { joins } from './member.ts';
import { kindOf, messagesOf } from './publishing.ts';
import { serverUrl } from './redis-subject.ts';

const makers = { redisStream, redisList, redisPubSub };
const authority = testAuthority('The right one');
const address = 'secure';

/** A server that speaks TLS, in front of one that does not. */
async function withTls(
  cert: { readonly cert: string; readonly key: string },
  target = serverUrl,
): Promise<string> {
  const { hostname, port } = new URL(target);
  const server = createServer(cert, (secure) => {
    const plain = connect(Number(port), hostname);
    secure.on('error', () => plain.destroy());
    plain.on('error', () => secure.destroy());
    secure.pipe(plain).pipe(secure);
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function made(make: (options: RedisOptions) => Transport, options: RedisOptions): Transport {
  const transport = make(options);
  onTestFinished(() => transport.close());
  return transport;
}

test.each(Object.entries(makers))(
  '%s delivers over TLS to a server with a private CA',
  async (_name, make) => {
    const host = await withTls(authority.issue('127.0.0.1'));
    for (const options of [
      { url: `redis://${host}`, tls: { ca: authority.ca } },
      { url: `rediss://${host}`, tls: () => ({ ca: authority.ca }) },
    ]) {
      const transport = made(make, options);
      expect(await kindOf(transport, `${address}-${transport.name}`)).toBe('acknowledged');
      await transport.probe(`${address}-${transport.name}`);
    }
  },
);

const wrongs: readonly (readonly [what: string, options: () => Promise<RedisOptions>, reason: RegExp])[] = [
  [
    'with a certificate of an unknown CA',
    async () => ({ url: `rediss://${await withTls(authority.issue('127.0.0.1'))}` }),
    /unable to verify the first certificate|self.signed certificate/,
  ],
  [
    'with a certificate that has expired',
    async () => ({
      url: `rediss://${await withTls(authority.issueExpired('127.0.0.1'))}`,
      tls: { ca: authority.ca },
    }),
    /certificate has expired/,
  ],
  [
    'with a certificate for another name',
    async () => ({
      url: `rediss://${await withTls(authority.issue('elsewhere.example'))}`,
      tls: { ca: authority.ca },
    }),
    /does not match certificate's altnames/,
  ],
  [
    'that does not speak TLS',
    async () => ({ url: serverUrl.replace('redis:', 'rediss:'), requestTimeout: 500 }),
    /No connection within 500 ms\. It may not speak TLS\./,
  ],
  [
    'that speaks only TLS',
    async () => ({ url: `redis://${await withTls(authority.issue('127.0.0.1'))}` }),
    /closed|ECONNRESET|EPIPE/i,
  ],
];

test.each(wrongs)('a server %s causes a hold with the reason', async (_what, options, reason) => {
  const transport = made(redisStream, await options());

  expect(await kindOf(transport, address)).toMatch(
    new RegExp(`^deferred, transport: .*(?:${reason.source})`, reason.flags),
  );
  await expect(transport.probe(address)).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(reason),
  });
});

test('credentials may be in the URL or in an option, and the hold of a wrong password does not contain it', async () => {
  const server = await ownRedis();
  const admin = await redisAt(server.url);
  await admin.sendCommand([
    'ACL',
    'SETUSER',
    'ada',
    'on',
    '>s3cret',
    'allkeys',
    'allchannels',
    'allcommands',
  ]);
  const { host } = new URL(server.url);
  const right = { username: 'ada', password: 's3cret' };
  const wrong = { username: 'ada', password: 'hunter2' };
  let password = right.password;

  expect(await kindOf(made(redisStream, { url: `redis://ada:s3cret@${host}` }), address)).toBe(
    'acknowledged',
  );
  expect(await kindOf(made(redisStream, { url: server.url, credentials: right }), address)).toBe(
    'acknowledged',
  );
  const changing = made(redisStream, {
    url: server.url,
    credentials: () => ({ username: 'ada', password }),
  });
  expect(await kindOf(changing, address)).toBe('acknowledged');
  for (const options of [{ url: server.url, credentials: wrong }, { url: `redis://ada:hunter2@${host}` }]) {
    const refused = made(redisStream, options);
    const said = await kindOf(refused, address);
    expect(said).toMatch(/^deferred, transport: WRONGPASS /);
    const probe = await refused.probe(address).catch((error: unknown) => error);
    const joined = await joins(redisStream(options).source(), address, { joinWithinMs: 1_000 }).catch(
      (error: unknown) => error,
    );
    for (const error of [probe, joined])
      expect(error).toMatchObject({
        code: 'OUTBOX_SERVER_UNAVAILABLE',
        message: expect.stringMatching(/WRONGPASS/),
      });
    expect(
      JSON.stringify([said, String(probe), probe, String(joined), joined, refused.endpoint]),
    ).not.toMatch(/hunter2/);
  }

  // A password that changes counts from the next connection on.
  await admin.sendCommand(['ACL', 'SETUSER', 'ada', 'resetpass', '>newer']);
  await admin.sendCommand(['CLIENT', 'KILL', 'USER', 'ada']);
  password = 'newer';
  await changing.probe(address).catch(() => changing.probe(address));
  expect(await kindOf(changing, address)).toBe('acknowledged');
});

test('the documented rights are sufficient for a user', async () => {
  const server = await ownRedis();
  const admin = await redisAt(server.url);
  const commands = {
    sender: '+eval +multi +discard +xadd +rpush +publish',
    'of-streams':
      '+eval +multi +exec +get +set +pexpire +del +exists +xgroup +xreadgroup +xread +xack +xautoclaim +xinfo +xrange +xlen',
    'of-lists': '+eval +get +set +pexpire +del +lpop +rpush +lrange +ltrim +llen +blmove +incrby +time',
  };
  for (const [user, rights] of Object.entries(commands)) {
    const rules = [
      'resetchannels',
      'on',
      '>s3cret',
      '~orders*',
      '&orders*',
      '+hello',
      '+auth',
      '+client|setname',
      '+select',
      ...rights.split(' '),
    ];
    await admin.sendCommand(['ACL', 'SETUSER', user, ...rules]);
  }
  const sender = { url: server.url, credentials: { username: 'sender', password: 's3cret' } };
  for (const [make, username] of [
    [redisStream, 'of-streams'],
    [redisList, 'of-lists'],
  ] as const) {
    const name = `orders-${username}`;
    const receiver = { url: server.url, credentials: { username, password: 's3cret' } };
    const transport = made(make, sender);
    await transport.probe(name);
    expect(await kindOf(transport, name, messagesOf(['k'], 5))).toBe('acknowledged');
    const member = await joins(make(receiver).source(), name);
    await member.has(5);
    await until(async () => (await member.lag())[0]?.messages === 0);
    expect(member.errors).toEqual([]);
  }
  const channels = made(redisPubSub, sender);
  await channels.probe('orders-channel');
  expect(await kindOf(channels, 'orders-channel')).toBe('acknowledged');
});
