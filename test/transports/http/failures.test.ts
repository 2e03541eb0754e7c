import { createServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { HttpOptions } from '../../../src/brokers/http/transport/http-options.ts';
import { httpSettings } from '../../../src/brokers/http/transport/http-options.ts';
import { HttpTransport } from '../../../src/brokers/http/transport/http-transport.ts';
import { http } from '../../../src/transports.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { until } from '../../support/fixtures/until.ts';
import {
  type Answer,
  type EndpointOptions,
  type HttpEndpoint,
  httpEndpoint,
  secret,
} from './http-endpoint.ts';

async function endpointOf(
  options: EndpointOptions = {},
): Promise<HttpEndpoint & { readonly address: string }> {
  const endpoint = await httpEndpoint(options);
  onTestFinished(() => endpoint.stop());
  return { ...endpoint, address: `http://127.0.0.1:${endpoint.port}/hook?token=s3cret` };
}

function transportOf(options: Partial<HttpOptions> = {}) {
  const transport = http({ secret, allow: ['127.0.0.1'], ...options });
  onTestFinished(() => transport.close());
  return transport;
}

const always = (answer: Answer) => endpointOf({ answer: () => answer });

test('each kind of response has its outcome, with the reason from the server', async () => {
  const endpoint = await endpointOf({
    answer: (_request, body) => ({ status: Number(body.slice(0, 3)), body: 'because of that' }),
  });
  const statuses = [200, 302, 400, 409, 410, 413, 422, 429, 500, 503, 507];
  const messages = statuses.map((status) => ({ ...outgoing(null), payload: String(status) }));

  const { outcomes, hold } = await publishTo(
    transportOf({ permanentStatuses: [422] }),
    endpoint.address,
    messages,
  );

  const server = `127.0.0.1:${endpoint.port}`;
  const told = (status: number): string => `${server} answered ${status}: because of that`;
  expect(hold).toBeUndefined();
  expect(outcomes).toEqual([
    { kind: 'acknowledged', partition: null, offset: null },
    { kind: 'rejected', error: `${server} answered 302: redirects are not followed` },
    { kind: 'rejected', error: told(400) },
    { kind: 'rejected', error: told(409) },
    { kind: 'permanent', error: told(410) },
    { kind: 'rejected', error: told(413) },
    { kind: 'permanent', error: told(422) },
    { kind: 'rejected', error: told(429) },
    { kind: 'ambiguous', error: told(500) },
    { kind: 'ambiguous', error: told(503) },
    { kind: 'ambiguous', error: told(507) },
  ]);
  expect(endpoint.requests).toHaveLength(statuses.length);
});

test('a redirect is not followed', async () => {
  const elsewhere = await endpointOf();
  const endpoint = await always({ status: 307, headers: { location: elsewhere.address } });

  const { outcomes } = await publishTo(transportOf(), endpoint.address, [outgoing('a')]);

  expect(outcomes).toMatchObject([{ kind: 'rejected' }]);
  expect(elsewhere.requests).toEqual([]);
});

test('Retry-After holds its own address for the given time, and no other address', async () => {
  let busy = true;
  const endpoint = await endpointOf({
    answer: () => (busy ? { status: 429, headers: { 'retry-after': '1' } } : undefined),
  });
  const other = await endpointOf();
  const transport = transportOf({ concurrency: 1 });
  const startedAt = performance.now();

  const { outcomes, hold } = await publishTo(transport, endpoint.address, [outgoing('a'), outgoing('b')]);
  expect(outcomes).toEqual([
    { kind: 'deferred', onWire: false },
    { kind: 'deferred', onWire: false },
  ]);
  expect(hold).toMatchObject({ scope: 'topic', reason: expect.stringContaining('nothing is sent for 1 s') });
  busy = false;
  await expect(transport.probe(endpoint.address)).rejects.toThrow('nothing is sent for 1 s');
  expect(countKinds(await publishTo(transport, endpoint.address, [outgoing('a')]))).toEqual({ deferred: 1 });
  expect(endpoint.requests).toHaveLength(1);
  expect(countKinds(await publishTo(transport, other.address, [outgoing('a')]))).toEqual({ acknowledged: 1 });

  await until(() => transport.probe(endpoint.address).then(() => true));
  expect(performance.now() - startedAt).toBeGreaterThan(990);
  expect(countKinds(await publishTo(transport, endpoint.address, [outgoing('a')]))).toEqual({
    acknowledged: 1,
  });
});

/** Speaks TCP, and sends what the test sets. */
async function tcpServer(say: (piece: (text: string) => void) => void): Promise<string> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => say((text) => socket.writable && socket.write(text)));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`;
}

test('a response with slow headers does not extend the timeout', async () => {
  const address = await tcpServer((piece) => {
    piece('HTTP/1.1 200 OK\r\n');
    const drip = setInterval(() => piece('x: y\r\n'), 50);
    onTestFinished(() => clearInterval(drip));
  });
  const startedAt = performance.now();
  const { outcomes } = await publishTo(transportOf({ requestTimeout: '300ms' }), address, [outgoing('a')]);
  expect(outcomes).toMatchObject([{ kind: 'ambiguous', error: expect.stringContaining('no answer within') }]);
  // Such headers could go on for two minutes.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

test('the status counts even if the body stalls or is endless', async () => {
  const unending = await tcpServer((piece) => piece('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'));
  const endless = await tcpServer((piece) => {
    piece('HTTP/1.1 400 Bad\r\ncontent-length: 999999999\r\n\r\n');
    for (let n = 0; n < 100; n += 1) piece('no '.repeat(10_000));
  });
  const transport = transportOf({ requestTimeout: '1s' });
  expect(countKinds(await publishTo(transport, unending, [outgoing('a')]))).toEqual({ acknowledged: 1 });
  const { outcomes } = await publishTo(transport, endless, [outgoing('a')]);
  expect(outcomes).toMatchObject([
    { kind: 'rejected', error: expect.stringMatching(/answered 400: (no ){60,80}/) },
  ]);
  expect(JSON.stringify(outcomes).length).toBeLessThan(400);
});

test('the headers of a response are limited in size', async () => {
  const address = await tcpServer((piece) => piece(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`));
  const { outcomes } = await publishTo(transportOf(), address, [outgoing('a')]);
  expect(outcomes).toMatchObject([{ kind: 'ambiguous', error: expect.stringContaining('Headers Overflow') }]);
});

test('a batch that takes too long is settled as far as it was answered, and the rest is sent later', async () => {
  const endpoint = await endpointOf({ answer: () => ({ afterMs: 60 }) });
  const settings = httpSettings({ secret, allow: ['127.0.0.1'] });
  const transport = new HttpTransport(settings, 1_000);
  onTestFinished(() => transport.close());
  const messages = Array.from({ length: 40 }, () => outgoing('one'));

  const result = await publishTo(transport, endpoint.address, messages);

  const { acknowledged = 0, deferred = 0 } = countKinds(result);
  expect(acknowledged).toBeGreaterThan(0);
  expect(acknowledged + deferred).toBe(messages.length);
  expect(endpoint.received.map(({ id }) => id)).toEqual(messages.slice(0, acknowledged).map(({ id }) => id));
  expect(result.hold?.reason).toBe(
    `127.0.0.1:${endpoint.port} is slow: it answered ${acknowledged} messages in 1 s; the rest follows`,
  );
});

test('up to `concurrency` requests are in flight at the same time, and one per key', async () => {
  const endpoint = await endpointOf({ answer: () => ({ afterMs: 100 }) });
  const free = Array.from({ length: 30 }, () => outgoing(null));
  await publishTo(transportOf({ concurrency: 5 }), endpoint.address, free);
  expect(endpoint.crowd()).toBe(5);
  const keyed = await endpointOf({ answer: () => ({ afterMs: 300 }) });
  await publishTo(transportOf({ concurrency: 5 }), keyed.address, [
    outgoing('a'),
    outgoing('a'),
    outgoing('b'),
  ]);
  expect(keyed.crowd()).toBe(2);
});

test.each([
  ['a private address', 'http://10.1.2.3/'],
  ['this machine', 'http://127.0.0.1:1/'],
  ['a name that resolves to this machine', 'http://localhost:1/'],
])(
  '%s is refused before a connection is opened',
  { tags: ['http-reaches-no-private-address'] },
  async (_what, address) => {
    const transport = transportOf({ allow: [] });
    // Only the operator can allow it, so no message uses up an attempt.
    expect(await publishTo(transport, address, [outgoing('a'), outgoing('b')])).toEqual({
      outcomes: [
        { kind: 'deferred', onWire: false },
        { kind: 'deferred', onWire: false },
      ],
      hold: {
        scope: 'topic',
        reason: expect.stringContaining(
          'is not an address of the public internet, and `allow` does not name it',
        ),
      },
    });
    await expect(transport.probe(address)).rejects.toThrow('is not an address of the public internet');
  },
);

test('an allowed host name may be connected to', async () => {
  const { port } = await endpointOf();
  const transport = transportOf({ allow: ['localhost'] });
  expect(countKinds(await publishTo(transport, `http://localhost:${port}/`, [outgoing('a')]))).toEqual({
    acknowledged: 1,
  });
  await transport.probe(`http://localhost:${port}/`);
});

test('an invalid URL or a missing secret holds the address and uses up no attempt', async () => {
  const none = await publishTo(transportOf(), 'orders', [outgoing('a')]);
  expect(none).toMatchObject({
    outcomes: [{ kind: 'deferred', onWire: false }],
    hold: { reason: expect.stringContaining('http:// URL') },
  });
  const transport = transportOf({
    secret: () => {
      throw new Error('the vault is closed');
    },
  });
  expect(await publishTo(transport, 'https://a.test/', [outgoing('a')])).toMatchObject({
    outcomes: [{ kind: 'deferred', onWire: false }],
    hold: { scope: 'topic', reason: 'the vault is closed' },
  });
});

test('a message with a reserved header is failed and not sent', async () => {
  const endpoint = await endpointOf();
  const message = { ...outgoing('a'), headers: { 'transfer-encoding': 'chunked' } };
  const { outcomes } = await publishTo(transportOf(), endpoint.address, [message, outgoing('b')]);
  expect(outcomes).toMatchObject([
    { kind: 'permanent', error: expect.stringContaining('transfer-encoding') },
    { kind: 'acknowledged' },
  ]);
  expect(endpoint.requests).toHaveLength(1);
});
