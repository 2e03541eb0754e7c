import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiHandler } from '../../../src/api/handler.ts';
import type { Operation } from '../../../src/api/operation.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { auditOf, failAll } from '../../support/fixtures/operator.ts';
import { type ApiBench, adam, byHeader, openApi, type Told } from './api-bench.ts';
import { fill, type Sample, samplesOf, type World } from './samples.ts';

turnNoLeaves();

let bench: ApiBench;
let world: World;
let samples: Readonly<Record<string, Sample>>;
/** Nobody may be led to speak to it. */
let bait: Server;
let connected = 0;
let corpus: readonly string[];
beforeAll(async () => {
  bench = await openApi();
  world = await fill(bench);
  samples = samplesOf(world);
  bait = createServer((socket) => {
    connected += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => bait.listen(0, '127.0.0.1', resolve));
  const { port } = bait.address() as AddressInfo;
  corpus = [
    "'; drop table outbox.message; --",
    "1' or '1'='1",
    '$1',
    '%_\\',
    `http://127.0.0.1:${port}/`,
    `postgresql://127.0.0.1:${port}/outbox`,
    `127.0.0.1:${port}`,
    '__proto__',
    '{"$gt":""}',
    '${7*7}#{7*7}{{7*7}}',
    '../../../etc/passwd',
    '\u202Eevil\uFFFD🂡',
    'a\r\nSet-Cookie: a=b',
    '<script>alert(1)</script>',
    '-1e309',
    'x'.repeat(3_000),
  ];
});
afterAll(async () => {
  bait.close();
  await bench.drop();
});

interface Hostile {
  readonly path: string;
  readonly body: unknown;
}

/** Good requests in each of which one value is hostile; several texts for each place, other ones for the next place. */
function hostileOf({ body, method, name, params, query }: Operation, firstText: number): readonly Hostile[] {
  const sample = samples[name] ?? { path: '/' };
  let next = firstText;
  const texts = (): readonly string[] =>
    Array.from({ length: 4 }, () => corpus[(next += 1) % corpus.length] ?? '');
  const given = sample.body ?? {};
  const fields = body === undefined ? [] : [...Object.keys(given), 'reason', 'unknown'];
  const inPath = Object.keys(params.shape).length > 0;
  return [
    ...Object.keys(query.shape).flatMap((parameter) =>
      texts().map((text) => ({
        path: `${sample.path}?${parameter}=${encodeURIComponent(text)}`,
        body: given,
      })),
    ),
    ...fields.flatMap((field) =>
      texts().map((text) => ({ path: sample.path, body: { ...given, [field]: text } })),
    ),
    ...(inPath
      ? texts().map((text) => ({
          path: sample.path.replace(/(?<=^\/\w+\/)[^/]+/, encodeURIComponent(text)),
          body: given,
        }))
      : []),
    ...(method === 'POST' ? texts().map((text) => ({ path: sample.path, body: text })) : []),
  ];
}

const tables = () =>
  bench.lane.database.query<{ readonly name: string }>(
    `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'outbox'::regnamespace and c.relkind in ('r', 'p') order by 1`,
  );

test.each(operationTable.map((operation, index) => ({ name: operation.name, operation, index })))(
  '$name: hostile values are answered, and are neither SQL nor an address to speak to',
  { tags: ['api-shows-nothing-without-right'] },
  async ({ index, operation }) => {
    const before = await tables();
    for (const { body, path } of hostileOf(operation, index)) {
      const told: Told =
        operation.method === 'GET'
          ? await bench.get(path, { as: adam })
          : await bench.post(path, { as: adam, body });
      expect([path, body, told.status, told.status < 500], told.text).toEqual([
        path,
        body,
        told.status,
        true,
      ]);
      expect(told.headers.get('set-cookie')).toBeNull();
      expect(told.text).not.toMatch(/syntax error|49#|pg_|\bat .*\.ts:/);
    }
    expect(await tables()).toEqual(before);
    expect(connected).toBe(0);
  },
);

test('a reason is kept as it was given, whatever is in it', async () => {
  const texts = corpus.filter((text) => text.length <= 2_000);
  for (const reason of texts) {
    const id = await bench.lane.send(`R${reason}`, { afterMs: 3_600_000 });
    await bench.post(`/messages/${id}/cancel`, { body: { reason } });
  }
  const kept = (await auditOf(bench.lane)).map(({ reason }) => reason);
  expect(kept.slice(-texts.length)).toEqual(texts);
});

test('what is logged and told of a failure has neither payloads nor passwords', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  await failAll(bench.lane, ['L']);
  const lines: unknown[] = [];
  const note = (...given: readonly unknown[]): void => void lines.push(given);
  const logger = { debug: note, info: note, warn: note, error: note };
  const password = 'canary-password';
  const url = `postgresql://nobody:${password}@127.0.0.1:9/outbox`;
  const [broken, away] = [bench.lane.url, url].map((address) =>
    apiHandler({ database: { url: address } }, { authentication: byHeader, logger }),
  );
  const headers = { 'x-test': JSON.stringify(adam), 'content-type': 'application/json' };
  await bench.lane.database.query(
    `alter table outbox.message add constraint canary check (payload not like '%canary%') not valid`,
  );
  const edit = { method: 'POST', headers, body: JSON.stringify({ payload: 'canary-payload' }) };
  const path = `http://api.test/messages/${bench.lane.idOf('L')}/edit`;
  const told = [
    await broken?.(new Request(path, edit)),
    await away?.(new Request('http://api.test/status', { headers })),
  ];
  expect(told.map((response) => response?.status)).toEqual([500, 503]);
  const texts = await Promise.all(told.map(async (response) => response?.text()));
  expect(lines).toHaveLength(2);
  expect(JSON.stringify([lines, texts])).not.toContain('canary-');
  expect(texts[1]).toContain('"PostgreSQL, which the request needs, does not answer, or is not prepared."');
  expect(texts[1]).not.toContain('127.0.0.1');
  await Promise.all([broken?.close(), away?.close()]);
});
