import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../../src/api/authentication.ts';
import { mayAct } from '../../../src/api/caller.ts';
import { streamTable } from '../../../src/api/live/streams.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { answerProblems } from '../../support/fixtures/answer-problems.ts';
import { auditOf } from '../../support/fixtures/operator.ts';
import {
  type ApiBench,
  adam,
  expectProblem,
  olga,
  openApi,
  ownApi,
  rita,
  type Told,
  vera,
} from './api-bench.ts';
import { fill, inOrder, type Sample, samplesOf, type World } from './samples.ts';

let bench: ApiBench;
let world: World;
let samples: Readonly<Record<string, Sample>>;
beforeAll(async () => {
  bench = await openApi();
  world = await fill(bench);
  samples = samplesOf(world);
});
afterAll(async () => {
  await bench.drop();
});

function ask(name: string, method: string, as: Caller | null): Promise<Told> {
  const { body, path } = samples[name] ?? { path: `/no-sample-of/${name}` };
  return method === 'GET' ? bench.get(path, { as }) : bench.post(path, { as, body });
}

test('there is a sample of every operation', () => {
  expect(Object.keys(samples).toSorted()).toEqual(operationTable.map(({ name }) => name).toSorted());
});

test.each(inOrder)(
  '$name: nobody, and who lacks the right, is refused before anything is read',
  { tags: ['api-shows-nothing-without-right'] },
  async (operation) => {
    const { method, name, payloads, role } = operation;
    expectProblem(await ask(name, method, null), 401, 'OUTBOX_REQUEST_UNPROVED');
    for (const caller of [vera, olga, adam].filter((each) => !mayAct(each.role, role)))
      expectProblem(await ask(name, method, caller), 403, 'OUTBOX_REQUEST_DENIED');
    if (payloads === true)
      expectProblem(await ask(name, method, { ...adam, payloads: false }), 403, 'OUTBOX_REQUEST_DENIED');
  },
);

test.each(inOrder)(
  '$name: a caller of another topic finds nothing of this one',
  { tags: ['api-shows-nothing-without-right'] },
  async ({ method, name }) => {
    const told = await ask(name, method, rita);
    // A list is shorter, and of several messages the others are changed; what names one thing finds nothing.
    const several = /^(?:list\w+|show(?:Me|Status)|\w+Messages|(?:retry|discard|expunge)Kept)$/.test(name);
    expect(several ? [200] : [403, 404]).toContain(told.status);
    const { next: _next, ...body } = told.body;
    const said = JSON.stringify(told.status === 200 ? body : { ...body, instance: '', requestId: '' });
    const asked = JSON.stringify(samples[name]);
    const hidden = [world.waiting, world.failed, world.kept, world.bulk, 'orders', 'nightly', 'billing'];
    // What the request names may be repeated; nothing else may be said.
    expect(hidden.filter((word) => said.includes(word) && !asked.includes(word))).toEqual([]);
    if (told.status === 200) expect(said).not.toMatch(/"(?:state|result)":"(?!unknown)/);
  },
);

test('what a caller of another topic asked for has had no effect', async () => {
  expect(await bench.lane.states('waiting', 'failed')).toEqual(['waiting', 'failed']);
  const audit = (await auditOf(bench.lane)).filter(({ actor }) => actor === 'rita');
  expect(audit.length).toBeGreaterThan(20);
  expect(audit.filter(({ result }) => result !== 'denied')).toEqual([]);
});

test.each(inOrder)(
  '$name: who has the right and sees the topic is answered as described',
  async (operation) => {
    const caller = [vera, olga, adam].find(({ role }) => mayAct(role, operation.role)) ?? adam;
    const told = await ask(operation.name, operation.method, { ...caller, payloads: true });
    // Without a broker there are no partitions to count.
    if (operation.name === 'changePartitions') expectProblem(told, 404, 'OUTBOX_TRANSPORT_UNKNOWN');
    else expect(told.body, told.text).not.toHaveProperty('code');
    if (told.status === 200) expect(answerProblems(operation.answer, told.body)).toEqual([]);
  },
);

test('what the table does not name is not there, and not even that is told to nobody', async () => {
  expectProblem(await bench.get('/metrics'), 404, 'OUTBOX_REQUEST_INVALID');
  expectProblem(await bench.get('/metrics', { as: null }), 401, 'OUTBOX_REQUEST_UNPROVED');
  expectProblem(await bench.get('/openapi.json', { as: null }), 401, 'OUTBOX_REQUEST_UNPROVED');
  for (const { path } of streamTable)
    expectProblem(await bench.get(path, { as: null }), 401, 'OUTBOX_REQUEST_UNPROVED');
});

test('the audit has what a caller named of another topic, by id or by ref, and nothing that does not exist', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const own = await ownApi();
  const id = await own.lane.send('A', { ref: 'r', afterMs: 3_600_000 });
  const unknown = '00000000-0000-4000-8000-000000000000';
  const denied = async (): Promise<number> => {
    const rows = await own.lane.database.query("select from outbox.audit where result = 'denied'");
    return rows.length;
  };
  const counted: number[] = [];
  const as = rita;
  for (const request of [
    () => own.post('/messages/cancel', { as, body: { topic: 'orders', ref: 'r' } }),
    () => own.post('/messages/cancel', { as, body: { ids: [id] } }),
    () => own.get(`/messages/${id}`, { as }),
    () => own.post(`/messages/${id}/cancel`, { as }),
    () => own.post('/messages/cancel', { as, body: { ids: [unknown] } }),
    () => own.get(`/messages/${unknown}`, { as }),
    () => own.post(`/messages/${unknown}/cancel`, { as }),
    () => own.get(`/groups/g/kept/${unknown}`, { as }),
    () => own.post('/schedules/none/pause', { as }),
    () => own.get('/messages?topic=none', { as }),
    () => own.post('/pause', { as, body: { topic: 'none' } }),
    () => own.get('/messages?topic=orders', { as }),
  ]) {
    const told = await request();
    expect([200, 404]).toContain(told.status);
    counted.push(await denied());
  }
  expect(counted).toEqual([1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5]);
});
