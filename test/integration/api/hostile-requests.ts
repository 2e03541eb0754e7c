import fc from 'fast-check';
import { streamTable } from '../../../src/api/live/streams.ts';
import type { Operation } from '../../../src/api/operation.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import type { Sample } from './samples.ts';

/** A request that its sender may have made up in part. */
export interface HostileRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const place = (since: string, snapshot: string): string =>
  Buffer.from(JSON.stringify([since, snapshot])).toString('base64url');
const id = Buffer.from('00000000-0000-4000-8000-000000000000').toString('base64url');

/** Texts that some reader of texts takes for what they are not. */
// biome-ignore format: a line per kind of text
const texts: readonly string[] = [
  '0000-01-01T00:00Z', '0001-01-01T00:00+23:59', '9999-12-31T23:59-23:59', '2026-02-30T00:00Z',
  '2026-01-01T00:00:60Z', '-271821-04-20T00:00Z', 'tomorrow 5', '60', '2026-01-01',
  '0x10', '1e2', '1e309', '-1', '-0', ' 7 ', '9007199254740993', '99999999999999999999', 'NaN',
  '', ' ', '\0', '\ud800', 'a\r\nb: c', '%', '%zz', '%ff', '..', '__proto__', 'constructor', 'null',
  '1ms', '999999999y', '-5 days', '1e9 s', 'failed,failed', 'failed,', ',', 'true', '[]', '{}',
  `9999999999999999999_${id}`, `-1_${id}`, '5_', `5_${'A'.repeat(2_900)}`, '_', `0x1_${id}`,
  place('2026-02-30T00:00:00Z', '1:1:'), place('2999-01-01T00:00:60Z', '1:2:1'), place('2', '9:1:'),
  '"2026-02-30T00:00:00.000000Z"', '"0000-01-01T00:00:00.000000Z"', 'W/"1"', '*', '"a", "b"',
  '[::1', 'http://[', 'http://a:b@c:99999', 'data:,', 'Bearer', 'Basic Og==', 'Basic \u00ff',
  '['.repeat(150_000) + ']'.repeat(150_000), `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
];

/** Code for somebody else: none of it may be run. */
// biome-ignore format: a line per kind of text
export const code: readonly string[] = [
  "'; drop table outbox.message; --", "1' or '1'='1", '$1', '%_\\', '{"$gt":""}', '${7*7}#{7*7}{{7*7}}',
  '../../../etc/passwd', '\u202Eevil\uFFFD🂡', 'a\r\nSet-Cookie: a=b', '<script>alert(1)</script>',
];

/** Any of these texts, and of those that have an address to which nobody may be led. */
const textOf = (bait: string) =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(...texts, ...code, bait, `http://${bait}/`, `postgresql://${bait}/outbox`),
    },
    fc.string({ unit: 'binary', maxLength: 60 }),
  );
/** One that a request can have at all. */
const headerTextOf = (text: fc.Arbitrary<string>) =>
  text.map((given) => given.replaceAll(/[^\x20-\x7e\x80-\xff]/g, '').slice(0, 8_000));
// biome-ignore format: short names in lines
const headerName = fc.constantFrom(
  'if-match', 'idempotency-key', 'last-event-id', 'origin', 'sec-fetch-site', 'content-type', 'accept',
  'content-length', 'authorization', 'cookie', 'x-forwarded-for', 'x-http-method-override', 'range',
);
const jsonTextOf = (text: fc.Arbitrary<string>) =>
  fc.oneof(
    text,
    fc.constantFrom(0, -1, 1e308, -1e308, 2 ** 53, 0.5, null, true, [], {}, [[]], ['a', 'a']),
    fc.jsonValue({ maxDepth: 3 }),
  );

/** A text that a URL can carry: a lone surrogate cannot be. */
const inUrl = (given: string): string =>
  encodeURIComponent(given.slice(0, 3_000).replaceAll(/\p{Surrogate}/gu, '\uFFFD'));

type Asked = Pick<Operation, 'method' | 'name' | 'path'> & {
  readonly queryNames: readonly string[];
  /** What its body may have. */
  readonly fields: readonly string[];
};
const asked: readonly Asked[] = [
  ...operationTable.map((operation) => ({
    ...operation,
    queryNames: Object.keys(operation.query),
    fields: Object.keys(operation.body ?? {}),
  })),
  ...streamTable.map((stream) => ({
    ...stream,
    method: 'GET' as const,
    queryNames: Object.keys(stream.query),
    fields: [],
  })),
];

/** Requests to every operation and stream, in each of which some parts are hostile. @param bait a host and its port */
export function hostileRequests(
  samples: Readonly<Record<string, Sample>>,
  bait: string,
): fc.Arbitrary<HostileRequest> {
  const text = textOf(bait);
  return fc.constantFrom(...asked).chain(({ fields, method, name, path, queryNames }) => {
    const sample = samples[name] ?? { path };
    const known = [...fields, ...Object.keys(sample.body ?? {})];
    return fc
      .record({
        segment: fc.option(text, { freq: 1 }),
        query: fc.dictionary(fc.constantFrom('unknown', ...queryNames, ...queryNames), text, { maxKeys: 2 }),
        headers: fc.dictionary(headerName, headerTextOf(text), { maxKeys: 1 }),
        body: fc.oneof({ weight: 6, arbitrary: bodyWith(known, text) }, { weight: 1, arbitrary: text }),
      })
      .map(({ body, headers, query, segment }) => ({
        method,
        path:
          (segment === null ? sample.path : sample.path.replace(/(?<=^\/\w+\/)[^/]+/, () => inUrl(segment))) +
          (method === 'GET' ? queryText(query) : ''),
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify({ ...sample.body, ...body }),
      }));
  });
}

/** Its fields come instead of those of a good body; `undefined`: without that one. */
function bodyWith(
  names: readonly string[],
  text: fc.Arbitrary<string>,
): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  if (names.length === 0) return fc.constant({});
  const value = fc.option(jsonTextOf(text), { nil: undefined, freq: 2 });
  return fc.dictionary(fc.constantFrom(...names), value, { minKeys: 1, maxKeys: 2 });
}

function queryText(query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(([parameter, value]) => `${parameter}=${inUrl(value)}`);
  return `?${pairs.join('&')}`;
}
