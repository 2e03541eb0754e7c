import { afterEach, beforeEach, expect, type TestContext, test } from 'vitest';
import { z } from 'zod';
import type { Caller } from '../../../src/api/authentication.ts';
import { type RunningApi, serveApi } from '../../../src/api/serve.ts';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import { topic } from '../../../src/core/topic.ts';
import { announceTopics } from '../../../src/operations/announce.ts';
import type { NewMessage } from '../../../src/store/message/new-message.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { type ApiBench, olga, openApi, rita, vera } from './api-bench.ts';
import { type Followed, followEvents } from './follow-events.ts';

let bench: ApiBench;
let running: RunningApi;
beforeEach(async () => {
  bench = await openApi();
  running = await serveApi(bench.api, { host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await running.stop();
  await bench.lane.drop();
});

const labels = new Map<unknown, string>();
const send = async (label: string, options: Omit<NewMessage, 'payload'> = {}): Promise<void> => {
  labels.set(await bench.lane.send(label, options), label);
};
const later = { afterMs: 3_600_000 };

/** Follows until the test ends, once the stream has found out from where. */
async function follow(
  context: TestContext,
  query: string,
  as: Caller = vera,
  headers: Readonly<Record<string, string>> = {},
): Promise<Followed> {
  const followed = followEvents(`http://127.0.0.1:${running.port}/events/messages${query}`, as, headers);
  context.onTestFinished(() => followed.stop());
  await expect.poll(() => followed.lastId()).toMatch(/^[\w-]+$/);
  return followed;
}

const seenIn = (followed: Followed) => followed.of('message').map(({ id, state }) => [labels.get(id), state]);

test('a viewer follows new messages and their changes until they are published, and sees no payload', async (context) => {
  const followed = await follow(context, '?topic=orders');
  await send('secret-A', { ...later, ref: 'a', headers: { note: 'secret-header' } });
  await send('secret-B');
  await expect
    .poll(() => seenIn(followed))
    .toEqual([
      ['secret-A', 'waiting'],
      ['secret-B', 'ready'],
    ]);
  await bench.post(`/messages/${bench.lane.idOf('secret-A')}/cancel`);
  await bench.lane.drain();
  await expect
    .poll(() => seenIn(followed).slice(2).map(String).toSorted())
    .toEqual(['secret-A,canceled', 'secret-B,published']);
  expect(followed.of('message')[0]).toMatchObject({ topic: 'orders', ref: 'a', gap: false });
  expect(followed.text()).not.toContain('secret-');
});

test('a caller follows its own topics only, and what it may not follow is noted', {
  tags: ['api-shows-nothing-without-right'],
}, async (context) => {
  const { database } = bench.lane;
  await announceTopics(database, [policyOf(topic('refunds', z.unknown()), 'scripted')], {});
  const limited = await follow(context, '', rita);
  await send('A');
  await storeMessages(database, 'refunds', [{ payload: '1' }]);
  await expect.poll(() => limited.of('message')).toMatchObject([{ topic: 'refunds' }]);

  const asked = { as: rita };
  expect((await bench.get('/events/messages?topic=orders', asked)).body).toMatchObject({ status: 404 });
  const several = { as: { ...rita, topics: ['refunds', 'returns'] } };
  expect((await bench.get('/events/messages', several)).body).toMatchObject({ status: 400 });
  expect(
    await bench.lane.database.query('select actor, action, topic, result from outbox.audit order by id'),
  ).toEqual([{ actor: 'rita', action: 'followMessages', topic: 'orders', result: 'denied' }]);
});

test('what changed while nobody was connected is told to who sends the last id', async (context) => {
  const first = await follow(context, '');
  await send('A', later);
  await expect.poll(() => seenIn(first)).toEqual([['A', 'waiting']]);
  await expect.poll(() => first.text().lastIndexOf('id: ') > first.text().lastIndexOf('event: ')).toBe(true);
  const id = first.lastId() ?? '';
  first.stop();
  await send('B', later);
  await bench.post(`/messages/${bench.lane.idOf('A')}/cancel`);

  const next = await follow(context, '', vera, { 'last-event-id': id });
  await expect.poll(() => seenIn(next).map(String).toSorted()).toEqual(['A,canceled', 'B,waiting']);
  const forged = Buffer.from(JSON.stringify(['2026-01-01T00:00:00.000Z', '9:1:'])).toString('base64url');
  for (const wrong of [forged, 'nothing', '']) {
    const begun = await follow(context, '?last=1', vera, { 'last-event-id': wrong });
    await expect.poll(() => seenIn(begun)).toEqual([['B', 'waiting']]);
    begun.stop();
  }
});

test('many messages at once all come, in order', async (context) => {
  const sent = Array.from({ length: 200 }, (_, n) => `M${n}`);
  for (const label of sent) await send(label, later);
  const followed = await follow(context, '?last=200');
  await expect.poll(() => seenIn(followed).length).toBe(200);
  expect(seenIn(followed).map(([label]) => label)).toEqual(sent);
});

test('while messages cannot be read that is told, and then what happened meanwhile', async (context) => {
  const followed = await follow(context, '');
  const { database } = bench.lane;
  await database.query('alter table outbox.message rename to hidden');
  await expect.poll(() => followed.of('trouble')[0]).toEqual({ code: 'OUTBOX_MIGRATION_MISSING' });
  expect(followed.text()).not.toMatch(/relation|hidden|select/);
  await database.query('alter table outbox.hidden rename to message');
  await send('A', later);
  await expect.poll(() => seenIn(followed)).toEqual([['A', 'waiting']]);
});

test('streams of both kinds count, and what is wrong is refused', async (context) => {
  const five = await Promise.all(
    ['?last=0', '?last=1', '?key=a', '?ref=b'].map((query) => follow(context, query, olga)),
  );
  const status = followEvents(`http://127.0.0.1:${running.port}/events`, olga);
  context.onTestFinished(() => status.stop());
  await expect.poll(() => status.text()).toContain('retry: ');
  expect((await bench.get('/events/messages', { as: olga })).body).toMatchObject({ status: 429 });
  five[0]?.stop();
  const again = async () => (await bench.get('/events/messages?last=201', { as: olga })).status;
  expect(await again()).toBe(400);
  for (const query of ['?states=gone', '?payload=1', '?interval=1', '?last=-1', '?topic=a&topic=b'])
    expect([query, (await bench.get(`/events/messages${query}`)).status]).toEqual([query, 400]);
});
