import { expect, test } from 'vitest';
import { type HttpOptions, httpSettings } from '../../../../src/brokers/http/transport/http-options.ts';
import { env } from '../../../../src/config/env.ts';
import { http } from '../../../../src/transports.ts';

const secret = `whsec_${Buffer.alloc(24, 'k').toString('base64')}`;

test('defaults', () => {
  const { concurrency, requestTimeoutMs, headers, permanentStatuses } = httpSettings({ secret });
  expect({ concurrency, requestTimeoutMs, headers, permanentStatuses }).toEqual({
    concurrency: 16,
    requestTimeoutMs: 10_000,
    headers: {},
    permanentStatuses: new Set(),
  });
});

test.each<[string, object]>([
  ['secret', { secret: undefined }],
  ['secret', { secret: [] }],
  ['secret', { secret: 'password' }],
  ['secret', { secret: `whsec_${Buffer.alloc(23, 'k').toString('base64')}` }],
  ['secret', { secret: [secret, 'not base64!'] }],
  ['headers', { headers: 'a: b' }],
  ['headers.host', { headers: { Host: 'a' } }],
  ['headers.webhook-id', { headers: { 'Webhook-Id': 'a' } }],
  ['headers.a b', { headers: { 'a b': 'a' } }],
  ['headers.authorization', { headers: { authorization: 'a\r\nb: c' } }],
  ['headers.x', { headers: { x: 7 } }],
  ['allow', { allow: '127.0.0.1' }],
  ['allow[0]', { allow: ['*'] }],
  ['permanentStatuses', { permanentStatuses: 409 }],
  ['tls', { tls: true }],
  ['tls.CA', { tls: { CA: '' } }],
  ['timeout', { timeout: 1 }],
])('an invalid `%s` is refused at once, without its value in the error', (option, wrong) => {
  const given = { secret, ...wrong } as HttpOptions;
  expect(() => http(given)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      details: expect.objectContaining({ option }),
      message: expect.not.stringMatching(/password|not base64|c3Nz/),
    }),
  );
});

test('an option that is a function is called when it is needed', () => {
  const settings = httpSettings({ secret: env('NO_SUCH_SECRET'), headers: () => ({ 'X-Tenant': 'a' }) });
  expect(() => settings.webhooks).toThrow(expect.objectContaining({ code: 'OUTBOX_CONFIG_MISSING' }));
  expect(settings.headers).toEqual({ 'x-tenant': 'a' });
});
