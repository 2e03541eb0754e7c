import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import type { HttpOptions } from '../../../src/brokers/http/transport/http-options.ts';
import { http } from '../../../src/transports.ts';
import { type Credentials, testAuthority } from '../../support/fixtures/certificates.ts';
import { outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { httpEndpoint, secret } from './http-endpoint.ts';

const authority = testAuthority('http');

async function tlsEndpoint(tls?: Credentials): Promise<string> {
  const endpoint = await httpEndpoint(tls === undefined ? {} : { tls });
  onTestFinished(() => endpoint.stop());
  return `https://127.0.0.1:${endpoint.port}/hook`;
}

function transportOf(options: Partial<HttpOptions> = {}) {
  const transport = http({ secret, allow: ['127.0.0.1'], ...options });
  onTestFinished(() => transport.close());
  return transport;
}

test('messages are sent over TLS with a private CA', async () => {
  const address = await tlsEndpoint(authority.issue('127.0.0.1'));
  const transport = transportOf({ tls: () => ({ ca: authority.ca }) });
  await transport.probe(address);
  const { outcomes } = await publishTo(transport, address, [outgoing('a'), outgoing('a')]);
  expect(outcomes).toMatchObject([{ kind: 'acknowledged' }, { kind: 'acknowledged' }]);
});

const wrong: readonly [string, () => Promise<string>, Partial<HttpOptions>, RegExp][] = [
  [
    'another CA',
    () => tlsEndpoint(authority.issue('127.0.0.1')),
    { tls: { ca: testAuthority('other').ca } },
    /TLS with 127.* failed: unable to verify/,
  ],
  [
    'the CAs of Node',
    () => tlsEndpoint(authority.issue('127.0.0.1')),
    {},
    /TLS with 127.* failed: unable to verify/,
  ],
  [
    'a certificate that has expired',
    () => tlsEndpoint(authority.issueExpired('127.0.0.1')),
    { tls: { ca: authority.ca } },
    /TLS with 127.* failed: certificate has expired/,
  ],
  [
    'a certificate for another name',
    () => tlsEndpoint(authority.issue('other.test')),
    { tls: { ca: authority.ca } },
    /TLS with 127.* failed: .*IP: 127\.0\.0\.1 is not in the cert's list/,
  ],
  [
    'a port without TLS',
    () => tlsEndpoint(),
    { tls: { ca: authority.ca } },
    /TLS with 127.* failed: its port does not speak TLS/,
  ],
];

test.each(wrong)(
  'with %s, messages wait; probe and hold give the reason',
  async (_what, server, options, reason) => {
    const address = await server();
    const transport = transportOf(options);

    const { outcomes, hold } = await publishTo(transport, address, [outgoing('a')]);

    expect(outcomes).toEqual([{ kind: 'deferred', onWire: false }]);
    expect(hold?.reason).toMatch(reason);
    await expect(transport.probe(address)).rejects.toMatchObject({
      code: 'OUTBOX_SERVER_UNAVAILABLE',
      message: expect.stringMatching(reason),
    });
  },
);

test('during a rotation each secret signs, and the signature covers id, time and body', async () => {
  const next = `whsec_${Buffer.alloc(32, 'n').toString('base64')}`;
  let secrets: readonly string[] = [secret];
  const endpoint = await httpEndpoint();
  onTestFinished(() => endpoint.stop());
  const transport = transportOf({ secret: () => secrets });
  const address = `http://127.0.0.1:${endpoint.port}/`;
  const message = outgoing('a');

  await publishTo(transport, address, [message]);
  secrets = [next, secret];
  await publishTo(transport, address, [message]);

  const [before, after] = endpoint.requests.map(({ headers }) => headers as Record<string, string>);
  const verify = (by: string, headers: Record<string, string> = {}, body = message.payload) =>
    new Webhook(by).verify(body, headers, { jsonParse: false });
  expect(() => verify(next, before)).toThrow('No matching signature');
  expect(() => [verify(next, after), verify(secret, after)]).not.toThrow();
  expect(() => verify(secret, after, 'p')).toThrow('No matching signature');
  expect(() => verify(secret, { ...after, 'webhook-id': 'x' })).toThrow('No matching signature');
  expect(after?.['webhook-id']).toBe(message.id);
});

test('headers of the options are sent with every request, override those of a message, and stay out of reasons', async () => {
  const endpoint = await httpEndpoint({
    answer: ({ headers }) => ({ status: 400, body: `You sent ${headers['authorization']}` }),
  });
  onTestFinished(() => endpoint.stop());
  const transport = transportOf({ headers: () => ({ Authorization: 'Bearer abcdef' }) });
  const message = { ...outgoing('a'), headers: { authorization: 'of the message' } };

  const { outcomes } = await publishTo(transport, `http://127.0.0.1:${endpoint.port}/`, [message]);

  expect(endpoint.requests[0]?.headers['authorization']).toBe('Bearer abcdef');
  expect(outcomes).toMatchObject([{ kind: 'rejected', error: expect.stringContaining('You sent …') }]);
});
