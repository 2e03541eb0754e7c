import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { openIdConnect } from '../../../../src/api/sign-in/open-id-connect.ts';
import type { OpenIdConnectOptions } from '../../../../src/api/sign-in/open-id-connect-options.ts';

const right: OpenIdConnectOptions = {
  issuer: 'https://id.test',
  clientId: 'outbox',
  clientSecret: 'hidden-of-the-client',
  redirectUrl: 'https://outbox.test/callback',
  database: { url: 'postgresql://outbox:hidden-of-the-database@localhost/outbox' },
  roles: { claim: 'groups', values: { admins: { role: 'admin' } } },
  session: { secret: 'hidden-of-the-sessions, which is long' },
};

test.each<{ readonly option: string; readonly given: object }>([
  { option: 'issuer', given: { issuer: 'http://id.test' } },
  { option: 'issuer', given: { issuer: 'ftp://127.0.0.1' } },
  { option: 'issuer', given: { issuer: 'https://id.test/?hidden=1' } },
  { option: 'redirectUrl', given: { redirectUrl: 'http://outbox.test/callback' } },
  { option: 'redirectUrl', given: { redirectUrl: 'https://outbox.test/back' } },
  { option: 'roles.values', given: { roles: { claim: 'groups', values: {} } } },
  {
    option: 'roles.values.admins.role',
    given: { roles: { claim: 'groups', values: { admins: { role: 'root' } } } },
  },
  { option: 'session.secret', given: { session: { secret: 'hidden but short' } } },
  { option: 'session.idle', given: { session: { ...right.session, idle: '2 hours' } } },
  { option: 'session.longest', given: { session: { ...right.session, longest: '9 hours' } } },
  { option: 'algorithm', given: { algorithm: 'none' } },
  { option: 'algorithm', given: { algorithm: 'HS256' } },
  { option: 'home', given: { home: '//evil.test' } },
  { option: 'home', given: { home: 'https://evil.test' } },
  { option: 'home', given: { home: '/"><script>' } },
  { option: 'realm', given: { realm: 'unknown' } },
])('$option is refused where it is wrong, and no secret is repeated', ({ given, option }) => {
  const failure = refusalOf(() => openIdConnect({ ...right, ...given }));
  expect(failure).toMatchObject({ code: 'OUTBOX_OPTION_INVALID', details: { option } });
  expect(inspect(failure, { depth: 9 })).not.toContain('hidden');
});

test('addresses in the clear are for this machine only, and what a function returns is judged as well', async () => {
  for (const host of ['127.0.0.1:3000', '[::1]:3000', 'localhost'])
    expect(() => openIdConnect({ ...right, issuer: `http://${host}` })).not.toThrow();
  const late = openIdConnect({ ...right, redirectUrl: () => 'http://outbox.test/callback' });
  await expect(late.handle?.(new Request('https://outbox.test/sign-in'))).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    details: { option: 'redirectUrl' },
  });
});

function refusalOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
