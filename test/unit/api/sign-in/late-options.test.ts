import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { apiHandler } from '../../../../src/api/handler.ts';
import { anyOf } from '../../../../src/api/sign-in/any-of.ts';
import { openIdConnect } from '../../../../src/api/sign-in/open-id-connect.ts';
import { bearerTokens } from '../../../../src/config/bearer-tokens.ts';

const token = 'a-token-of-a-program-that-is-long-enough-to-be-one';
const hash = createHash('sha256').update(token).digest('hex');
/** Nothing here comes as far as the database. */
const database = { url: 'postgresql://nobody@127.0.0.1:1/none' };

test.each([
  { option: 'redirectUrl', path: '/sign-in', late: { redirectUrl: () => 'https://outbox.test/back' } },
  { option: 'issuer', path: '/sign-in', late: { issuer: () => 'http://id.test' } },
  { option: 'session.secret', path: '/callback', late: { session: { secret: () => 'too short' } } },
])(
  'a wrong $option that is read late is a logged failure of the server, and tokens still prove their owners',
  async ({ late, option, path }) => {
    const lines: object[] = [];
    const note = (facts: object): void => void lines.push(facts);
    const authentication = anyOf(
      bearerTokens([{ name: 'deploy', hash, role: 'viewer' }]),
      openIdConnect({
        issuer: 'https://id.test',
        clientId: 'outbox',
        redirectUrl: 'https://outbox.test/callback',
        roles: { claim: 'groups', values: { admins: { role: 'admin' } } },
        session: { secret: 'a secret of the API that is long enough' },
        database,
        ...late,
      }),
    );
    const logger = { debug: note, info: note, warn: note, error: note };
    const api = apiHandler({ database }, { authentication, logger });
    const ask = async (at: string, headers: Readonly<Record<string, string>> = {}) => {
      const response = await api(new Request(`https://outbox.test${at}`, { headers }));
      return { status: response.status, text: await response.text() };
    };

    expect((await ask('/openapi.json', { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await ask('/openapi.json')).status).toBe(401);
    expect(lines).toEqual([]);
    const told = await ask(path);
    expect([told.status, told.text]).toEqual([503, expect.stringContaining('OUTBOX_SERVER_UNAVAILABLE')]);
    expect(told.text).not.toContain(option);
    const error: unknown = expect.stringContaining(`The option "${option}" of openIdConnect() must`);
    expect(lines).toEqual([expect.objectContaining({ event: 'request-failed', status: 503, error })]);
    await api.close();
  },
);
