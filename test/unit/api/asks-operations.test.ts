import { expect, test } from 'vitest';
import type { StreamCall } from '../../../src/api/live/stream.ts';
import { streamTable } from '../../../src/api/live/streams.ts';
import { textOfPlace } from '../../../src/api/live/tail-place.ts';
import type { AuthoredBody, Call } from '../../../src/api/operation.ts';
import { Scope } from '../../../src/api/scope.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import type { ServedOperations } from '../../../src/app/operations/served-operations.ts';

const id = '6b2f9c1e-7d3a-4f53-9c52-0d5b1a1f0a11';
const why = { reason: 'a test' };
const olga = { actor: 'olga', ...why };
const version = '2026-11-27T08:14:00.000000Z';
const kept = { group: 'billing', id: 'k' };
const orders = { topic: 'orders' };
const far = new Date('2099-01-01T00:00:00Z');
/** More digits than a number has. */
const corrections = { payloadText: '12345678901234567890', headers: { note: null } };
const pace = { ratePerSecond: 10, expect: 1 };

class Asked extends Error {
  readonly what: readonly unknown[];

  constructor(what: readonly unknown[]) {
    super(String(what[0]));
    this.what = what;
  }
}

/** Operations of which the first that is asked for ends the request. */
function operations(...names: readonly string[]): unknown {
  const ask = (...given: readonly unknown[]): Promise<never> =>
    Promise.reject(new Asked([names.join('.'), ...given]));
  return new Proxy(ask, { get: (_ask, name) => operations(...names, String(name)) });
}

interface Given {
  readonly path?: object;
  readonly query?: object;
  readonly body?: object;
}

/** What a request asks of the operations first, with what it gives them. */
async function askedBy(name: string, given: Given, at = operations()): Promise<unknown> {
  const operation = operationTable.find((one) => one.name === name);
  const call = {
    at,
    scope: new Scope({ payloads: true }),
    author: ({ dryRun, reason }: AuthoredBody) => ({
      actor: 'olga',
      ...(reason !== undefined && { reason }),
      ...(dryRun !== undefined && { dryRun }),
    }),
    version: () => version,
  } as unknown as Call;
  const act = operation?.prepare({ path: {}, query: {}, body: undefined, ...given });
  return act?.(call).then(
    () => 'nothing',
    (error: unknown) => (error instanceof Asked ? error.what : error),
  );
}

type Row = readonly [name: string, Given, asked: readonly unknown[]];

const ofMessages = ['cancel', 'discard', 'expunge', 'retry'].flatMap((verb): readonly Row[] => [
  [`${verb}Messages`, { body: { ids: [id], ...why } }, [verb, { ids: [id] }, olga]],
  [
    `${verb}Message`,
    { path: { id }, body: { ...why, dryRun: true } },
    [verb, { ids: [id] }, { ...olga, dryRun: true }],
  ],
]);
const steps = (names: readonly string[], what: string, at: string, path: object, named: string) =>
  names.map((step): Row => [`${step}${what}`, { path, body: why }, [`${at}.${step}`, named, olga]]);

const rows: readonly Row[] = [
  ['showStatus', {}, ['status']],
  ['pause', { body: { ...orders, ...why, timeout: 0 } }, ['pause', orders, { ...olga, timeout: 0 }]],
  ['resume', { body: { transport: 'kafka', ...why } }, ['resume', { transport: 'kafka' }, olga]],
  [
    'changeLanes',
    { path: orders, body: { ...why, lanes: 3, timeout: 0 } },
    ['changeLanes', 'orders', 3, { ...olga, timeout: 0 }],
  ],
  [
    'changePartitions',
    { path: orders, body: { ...why, partitions: 8, groups: ['g'], timeout: 0 } },
    ['changePartitions', 'orders', 8, { ...olga, groups: ['g'], timeout: 0 }],
  ],
  ['adopt', { body: { newInstallation: true } }, ['adopt', { actor: 'olga', newInstallation: true }]],
  [
    'listMessages',
    { query: { ...orders, ref: 'due', states: 'waiting,failed', limit: '2' } },
    ['list', { ...orders, ref: 'due', states: ['waiting', 'failed'] }, { limit: 2 }],
  ],
  ['showMessage', { path: { id } }, ['show', id, { log: false }]],
  ['showMessageLog', { path: { id } }, ['show', id, { log: true }]],
  ['revealMessage', { path: { id }, body: {} }, ['show', id]],
  ...ofMessages,
  [
    'withdrawMessages',
    { body: { ...orders, ref: 'due', ...why, timeout: 0 } },
    ['withdraw', { ...orders, ref: 'due' }, { ...olga, timeout: 0 }],
  ],
  [
    'withdrawMessage',
    { path: { id }, body: { timeout: 0 } },
    ['withdraw', { ids: [id] }, { actor: 'olga', timeout: 0 }],
  ],
  [
    'rescheduleMessages',
    { body: { ids: [id], ...why, after: '2h' } },
    ['reschedule', { ids: [id] }, { ...olga, after: 7_200_000 }],
  ],
  [
    'rescheduleMessage',
    { path: { id }, body: { ...why, at: far.toISOString() } },
    ['reschedule', { ids: [id] }, { ...olga, at: far }],
  ],
  [
    'editMessage',
    { path: { id }, body: { ...why, ...corrections } },
    ['edit', id, { ...olga, ...corrections, expectedVersion: version }],
  ],
  [
    'startBulk',
    { body: { filter: { states: ['waiting'] }, task: { action: 'cancel' }, ...why, ...pace, dryRun: true } },
    ['bulk.start', { states: ['waiting'] }, { action: 'cancel' }, { ...olga, ...pace, dryRun: true }],
  ],
  ['listBulk', { query: { limit: '1' } }, ['bulk.list', 1, undefined]],
  ['listKeptBulk', { query: { limit: '1' } }, ['inbox.bulk.list', 1, undefined]],
  ['showBulk', { path: { id } }, ['bulk.show', id]],
  ...steps(['pause', 'resume', 'abort'], 'Bulk', 'bulk', { id }, id),
  [
    'listKept',
    { query: { group: 'billing', head: 'true', limit: '2' } },
    ['inbox.list', { group: 'billing', head: true }, { limit: 2 }],
  ],
  ['showKept', { path: kept }, ['inbox.show', kept]],
  ['revealKept', { path: kept, body: {} }, ['inbox.show', kept]],
  [
    'editKept',
    { path: kept, body: { ...why, ...corrections } },
    ['inbox.edit', kept, { ...olga, ...corrections, expectedVersion: version }],
  ],
  ...['retry', 'discard', 'expunge'].map(
    (verb): Row => [
      `${verb}Kept`,
      { path: { group: 'billing' }, body: { ids: ['k'], ...why } },
      [`inbox.${verb}`, { group: 'billing', ids: ['k'] }, olga],
    ],
  ),
  ['listSchedules', {}, ['schedules.list']],
  ...steps(['pause', 'resume', 'run', 'remove'], 'Schedule', 'schedules', { name: 'nightly' }, 'nightly'),
  ['listAlerts', {}, ['alerts.list']],
  [
    'silenceAlert',
    { path: { rule: 'lag' }, body: { ...why, for: '2h' } },
    ['alerts.silence', 'lag', { ...olga, for: 7_200_000 }],
  ],
];

test.each(rows)(
  '%s asks its own operation, and gives it all that the request says',
  async (name, given, asked) => {
    expect(await askedBy(name, given)).toEqual(asked);
  },
);

test('a bulk operation of kept messages is asked of their group, once that is known', async () => {
  const filter = { group: 'billing', states: ['failed'] };
  const body = { filter, task: { action: 'retry' }, ...why, ...pace };
  const at = {
    status: async () => ({ groups: [{ group: 'billing' }], lanes: [], topics: [] }),
    inbox: { bulk: { start: operations('inbox', 'bulk', 'start') } },
  };
  expect(await askedBy('startKeptBulk', { body }, at)).toEqual([
    'inbox.bulk.start',
    filter,
    { action: 'retry' },
    { ...olga, ...pace },
  ]);
});

test('a verification looks back from where the request says, and an hour where it says nothing', async () => {
  const since = new Date(Date.now() - 3 * 3_600_000);
  expect(await askedBy('verify', { body: { grace: '1m', since: since.toISOString() } })).toEqual([
    'verify',
    { grace: 60_000, since },
  ]);
  const [, usual] = (await askedBy('verify', { body: {} })) as readonly [string, { readonly since: Date }];
  expect(Math.abs(Date.now() - 3_600_000 - usual.since.getTime())).toBeLessThan(60_000);
});

test('a stream of messages follows those of its filter, from as many as are asked for or from where it was', async () => {
  const stream = streamTable.find(({ name }) => name === 'followMessages');
  const place = { since: '2026-11-27T08:09:10.123Z', snapshot: '3:9:5' };
  const asked: unknown[] = [];
  const served = {
    async *follow(...[filter, { signal, ...options }, from, sight]: Parameters<ServedOperations['follow']>) {
      asked.push([filter, options, from, sight]);
      yield { messages: [], place };
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    },
  };
  const sight = { payloads: true };
  const sink = { room: async () => undefined, mark: () => undefined, send: () => undefined };
  const follow = (query: object, lastId?: string): void => {
    const begin = stream?.prepare({ query, scope: new Scope({ payloads: true }), lastId });
    begin?.({ served, sight, sink } as unknown as StreamCall)();
  };
  follow({ ...orders, states: 'waiting,canceled', key: 'B', last: '2' });
  follow({ ref: 'due' }, textOfPlace(place));
  expect(asked).toEqual([
    [{ ...orders, states: ['waiting', 'canceled'], key: 'B' }, { last: 2 }, undefined, sight],
    [{ ref: 'due' }, {}, place, sight],
  ]);
});

test('there is a request here for every operation that asks for one', () => {
  const names = [...rows.map(([name]) => name), 'showMe', 'startKeptBulk', 'verify'];
  expect(names.toSorted()).toEqual(operationTable.map(({ name }) => name).toSorted());
});
