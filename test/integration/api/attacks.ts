import type { World } from './samples.ts';

/** Callers by their tokens: `limited` is an admin of the topic "refunds" alone, and `ben` is an operator by name and password. */
export type Attacker = 'nobody' | 'viewer' | 'operator' | 'admin' | 'limited' | 'ben';

/** What an attacker asks, and with which of these statuses it is answered. */
export interface Attack {
  readonly what: string;
  readonly as: Attacker;
  readonly path: string;
  /** Of a change; undefined: it is a GET. */
  readonly body?: unknown;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
}

interface Secrets {
  readonly token: string;
  readonly hash: string;
}

/** Ways to be taken for somebody else. */
function unproved({ hash, token }: Secrets): readonly Attack[] {
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  const asked = { as: 'nobody', path: '/status', status: 401 } as const;
  return [
    { ...asked, what: 'no credentials' },
    { ...asked, what: 'a wrong token', headers: { authorization: `Bearer ${'a'.repeat(43)}` } },
    { ...asked, what: 'a short token', headers: { authorization: `Bearer ${token.slice(0, 42)}` } },
    { ...asked, what: 'a hash as the token', headers: { authorization: `Bearer ${hash}` } },
    { ...asked, what: 'a token in the query', path: `/status?access_token=${token}` },
    { ...asked, what: 'a token in a cookie', headers: { cookie: `authorization=Bearer ${token}` } },
    { ...asked, what: 'two spaces', headers: { authorization: `Bearer  ${token}` } },
    { ...asked, what: 'a forwarded address', headers: { 'x-forwarded-for': '127.0.0.1' } },
    { ...asked, what: 'the document', path: '/openapi.json' },
    { ...asked, what: 'a path that is none', path: '/nowhere' },
    { ...asked, what: 'a wrong password', headers: basic('ben:wrong horse battery') },
    { ...asked, what: 'a name with a colon', headers: basic('ben:x:correct horse battery') },
    { ...asked, what: 'the name __proto__', headers: basic('__proto__:correct horse battery') },
  ];
}

/** Changes that a form of another site could send. */
function ofForms({ waiting }: World): readonly Attack[] {
  const types = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/json;x=text/plain',
    '',
  ];
  return types.map((type) => ({
    as: 'operator',
    path: `/messages/${waiting}/cancel`,
    body: {},
    headers: { 'content-type': type },
    status: 415,
    what: `a body of the type "${type}"`,
  }));
}

/** What callers ask without the right to it, beside what the tests of rights ask of every operation. */
function unallowed({ waiting }: World): readonly Attack[] {
  const changes: readonly (readonly [Attacker, string, object])[] = [
    ['viewer', `/messages/${waiting}/cancel`, { role: 'admin', actor: 'adam' }],
    ['limited', '/pause', { transport: 'kafka', timeout: 0 }],
  ];
  return changes.map(([as, path, body]) => ({ as, path, body, status: 403, what: 'a missing right' }));
}

/** What there is of another topic: 403 would tell that it is there. */
function hidden({ bulk, failed, group, kept, waiting }: World): readonly Attack[] {
  const named = `/groups/${group}/kept/${kept}`;
  const bulkOf = (topic: string) => ({ filter: { topic }, task: { action: 'cancel' }, reason: 'x' });
  const asked: readonly (readonly [string, object?])[] = [
    [`/messages/${waiting}`],
    [`/messages/${waiting}/log`],
    [`/messages/${waiting}/reveal`, {}],
    [`/messages/${waiting}/cancel`, {}],
    [`/messages/${failed}/edit`, { payload: 1 }],
    ['/messages?topic=orders'],
    [`/kept?group=${group}&topic=orders`],
    [named],
    [`${named}/reveal`, {}],
    [`${named}/edit`, { payload: 1 }],
    ['/bulk', bulkOf('orders')],
    ['/bulk', { ...bulkOf('refunds'), task: { action: 'replay', to: 'orders' } }],
    [`/bulk/${bulk}`],
    [`/bulk/${bulk}/abort`, {}],
    ['/pause', { topic: 'orders', timeout: 0 }],
    ['/topics/orders/lanes', { lanes: 2 }],
    ['/schedules/nightly/run', {}],
    ['/events/messages?topic=orders'],
  ];
  return asked.map(([path, body]) => ({
    as: 'limited',
    path,
    ...(body !== undefined && { body }),
    status: 404,
    what: 'another topic',
  }));
}

/** An id as cursors have it. */
const tokenOf = (id: string): string => Buffer.from(id).toString('base64url');

/** Requests that are made to be read in two ways. */
function malformed({ failed, group, waiting }: World): readonly Attack[] {
  const cancel = `/messages/${waiting}/cancel`;
  const reads: readonly (readonly [string, number])[] = [
    ['/messages?topic=orders&topic=refunds', 400],
    ['/messages?topic=orders%00', 400],
    ['/messages?topics=orders', 400],
    ['/messages?states=lost', 400],
    ['/messages?after=1', 400],
    [`/messages?after=9999999999999999999_${tokenOf(waiting)}`, 400],
    [`/kept?after=5_${tokenOf('a\0b')}`, 400],
    ['/kept?head=maybe', 400],
    [`/messages/${'0'.repeat(36)}`, 400],
    ['/messages?createdFrom=0000-01-01T00:00Z', 400],
    ['/messages?createdFrom=0001-01-01T00:00%2B23:59', 400],
    ['/messages?createdFrom=2026-01-01T23:59:60Z', 400],
    ['/messages?limit=0x10', 400],
    ['/messages?limit=1e9', 400],
    ['/messages?limit=201', 400],
    ['/messages?__proto__=1', 400],
    ['/messages?after=99999999999999999999_a', 400],
    ['/kept?olderThan=999999999y', 400],
    [`/groups/${group}%2F..%2F..%2Fstatus/kept/a`, 404],
    [`/groups/%2e%2e/kept/a`, 404],
    ['/groups/%ff/kept/a', 404],
    ['/groups/%00/kept/a', 400],
    ['//status', 404],
    ['/status/', 404],
    [`/messages?key=${'a'.repeat(9_000)}`, 414],
  ];
  const changes: readonly (readonly [string, unknown, number])[] = [
    [cancel, { actor: 'adam' }, 400],
    [cancel, { dryRun: 'true' }, 400],
    [cancel, '{', 400],
    [cancel, `${'['.repeat(65)}${']'.repeat(65)}`, 400],
    [cancel, '{"__proto__":{"dryRun":true}}', 400],
    [cancel, { reason: 'a\0b' }, 400],
    [cancel, '['.repeat(60_000), 400],
    [cancel, ' '.repeat(65_537), 413],
    ['/messages/cancel', { ids: Array.from({ length: 201 }, () => waiting) }, 400],
    [`/messages/${waiting}/reschedule`, { after: 1e308 }, 422],
    [`/messages/${waiting}/reschedule`, { after: 'NaN' }, 400],
    ['/alerts/lag/silence', { for: '31d' }, 400],
    ['/alerts/lag/silence', { for: -1 }, 400],
    [`/messages/${failed}/edit`, { payloadText: '['.repeat(200_000) }, 422],
    [`/messages/${failed}/edit`, { headers: { traceparent: 'x' } }, 422],
  ];
  const as = 'admin';
  return [
    ...reads.map(([path, status]) => ({ as, path, status, what: 'a read' }) as const),
    ...changes.map(([path, body, status]) => ({ as, path, body, status, what: 'a change' }) as const),
    // A `Request`, as the tests of methods make it, cannot have TRACE.
    ...['PATCH', 'TRACE'].map(
      (method) => ({ as, method, path: '/status', status: 405, what: method }) as const,
    ),
    {
      as,
      path: cancel,
      body: {},
      headers: { 'idempotency-key': 'k'.repeat(201) },
      status: 400,
      what: 'a long key',
    },
    {
      as,
      path: `/messages/${failed}/edit`,
      body: { payload: 1 },
      headers: { 'if-match': '"a", "b"' },
      status: 400,
      what: 'a list of versions',
    },
  ];
}

/** Every attack on one address, none of which may change or lock anything. */
export function attacksOn(world: World, secrets: Secrets): readonly Attack[] {
  return [
    ...unproved(secrets),
    ...ofForms(world),
    ...unallowed(world),
    ...hidden(world),
    ...malformed(world),
  ];
}

/** What is no HTTP, or is two requests in one: it is answered with 400, or not at all. */
export const smuggled: readonly (readonly [what: string, text: string])[] = [
  ['two lengths', 'POST /me HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
  [
    'length and chunks',
    'POST /me HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['another encoding', 'POST /me HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n'],
  ['no host', 'GET /me HTTP/1.1\r\n\r\n'],
  ['a host with a path', 'GET /me HTTP/1.1\r\nHost: a/b\r\n\r\n'],
  ['a host with a user', 'GET /me HTTP/1.1\r\nHost: b@a\r\n\r\n'],
  ['a folded header', 'GET /me HTTP/1.1\r\nHost: a\r\nX: b\n c\r\n\r\n'],
  ['no path', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a long head', `GET /me HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`],
];
