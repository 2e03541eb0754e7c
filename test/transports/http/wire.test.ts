import { expect, onTestFinished, test } from 'vitest';
import { http } from '../../../src/transports.ts';
import { publishTo } from '../../support/fixtures/outgoing.ts';
import { linesOf, shownLines, shownMessage } from '../../support/fixtures/wire-page.ts';
import { httpEndpoint, secret } from './http-endpoint.ts';

/** Of the connection, and of the moment of the request. The endpoint verifies the signature. */
const changing = new Set(['host', 'connection', 'webhook-timestamp', 'webhook-signature']);

test('a request is what docs/other-languages.md shows, besides its signature', async () => {
  const endpoint = await httpEndpoint();
  const transport = http({ secret, allow: ['127.0.0.1'] });
  onTestFinished(async () => {
    await transport.close();
    await endpoint.stop();
  });

  await publishTo(transport, `http://127.0.0.1:${endpoint.port}/orders`, [shownMessage]);

  const [request] = endpoint.requests;
  const [accepted] = endpoint.received;
  const headers = Object.entries(request?.headers ?? {});
  expect(headers.map(([name]) => name)).toEqual(expect.arrayContaining([...changing]));
  const shown = headers
    .filter(([name]) => !changing.has(name))
    .map(([name, value]) => [name, value] as const);
  expect(linesOf([...shown, ['body', accepted?.payload]])).toEqual(shownLines('HTTP'));
});
