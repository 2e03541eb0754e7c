import { expect, test } from 'vitest';
import { requireSameOrigin } from '../../../src/api/same-origin.ts';

const asked = (url: string, origin: string) => () =>
  requireSameOrigin(new Request(url, { method: 'POST', headers: { origin } }));

test.for([
  ['http://api.test/x', 'http://api.test'],
  ['https://api.test/x', 'https://api.test'],
  // Behind a proxy that speaks TLS.
  ['http://api.test/x', 'https://api.test'],
] as const)('a change at %s by a page of %s is of the same origin', ([url, origin]) => {
  expect(asked(url, origin)).not.toThrow();
});

test.for([
  ['https://api.test/x', 'http://api.test'],
  ['https://api.test/x', 'https://api.test:8443'],
  ['http://api.test/x', 'https://evil.test'],
  ['http://api.test/x', 'ftp://api.test'],
  ['http://api.test/x', 'null'],
  ['http://api.test/x', 'http://evil.example#api.test'],
] as const)('a change at %s by a page of %s is refused', ([url, origin]) => {
  expect(asked(url, origin)).toThrow('cross-site');
});
