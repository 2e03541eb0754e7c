import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, type TestContext, test } from 'vitest';
import { awake } from '../../support/fixtures/awake.ts';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { untilFailing } from '../../support/fixtures/told-health.ts';
import { until } from '../../support/fixtures/until.ts';
import type { FedConsumer } from '../../support/processes/fed-consumer.ts';

const closed = new Error('the bank is closed');
const manyTimes = Array.from({ length: 60 }, () => '500ms' as const);

async function openInbox({ onTestFinished }: TestContext): Promise<MemoryInbox> {
  const inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  return inbox;
}

/** A port that accepts every connection and never says anything. */
async function mutePort({ onTestFinished }: TestContext): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const eventsOf = ({ events }: FedConsumer, type: string) => events.filter((event) => event.type === type);

test.for([
  ['is unreachable', async () => '127.0.0.1:1'],
  ['accepts connections and never answers', mutePort],
] as const)(
  'while Temporal %s, parked messages are tried in order when due, and a stop is quick',
  { tags: ['parked-tried-without-temporal'] },
  async ([, addressOf], context) => {
    const inbox = await openInbox(context);
    let open = false;
    const triedAt: number[] = [];
    const running = await inbox.consume({
      temporalAddress: await addressOf(context),
      quickRetries: [],
      retry: manyTimes,
      before: ({ payload: { n } }) => {
        if (n === 1) triedAt.push(performance.now());
        if (!open && n <= 3) throw closed;
      },
    });
    inbox.feed(...range(1, 3).map((n) => ({ n, key: 'a' })), { n: 4, key: 'b' });
    await until(() => running.counts().parked === 3 && running.counts().handled === 1, 60_000);

    // Calls to Temporal are in progress or fail in this time, for up to ten seconds each.
    await until(() => triedAt.length >= 6, 60_000);
    const betweenMs = triedAt.slice(2).map((at, n) => at - (triedAt[n + 1] ?? Number.NaN));
    // The median, because the machine may be busy: half a second of delay, and at most one until the next look.
    expect(betweenMs.toSorted((a, b) => a - b)[Math.floor(betweenMs.length / 2)]).toBeLessThan(4_500);
    open = true;
    await until(async () => (await inbox.effects()).length === 4, 60_000);
    expect(await inbox.effects()).toEqual([4, 1, 2, 3]);
    expect(await inbox.kept()).toEqual([]);

    await untilFailing(running, 'Temporal');
    const awakeMs = awake();
    await running.stop();
    // Hardly any of it is needed; a call that is under way takes five to ten.
    expect(awakeMs()).toBeLessThan(4_000);
    expect(eventsOf(running, 'workflows-failing')).toHaveLength(1);
    expect(eventsOf(running, 'parked-failing')).toEqual([]);
  },
);

test('a concurrent workflow and stand-in never try one key twice at a time and keep its order', {
  tags: ['parked-tried-without-temporal'],
}, async (context) => {
  const inbox = await openInbox(context);
  const inHand = new Set<number>();
  const overlaps: number[] = [];
  const wasted: number[] = [];
  let open = false;
  const settings = {
    batch: { size: 1 },
    quickRetries: [],
    // Shorter than what a busy process takes to begin a try.
    retry: Array.from({ length: 99 }, () => '1ms' as const),
    breaker: false as const,
    // No workflow is waited for, although they run.
    impatient: true,
    before: async ({ attempt, payload: { n } }: { attempt: number; payload: { n: number } }) => {
      if (!open) throw closed;
      if (inHand.size > 0) overlaps.push(n);
      if (n > 1 && attempt > 1) wasted.push(n);
      inHand.add(n);
      await delay(5);
      inHand.delete(n);
    },
  };
  const consumers = [await inbox.consume(settings), await inbox.consume({ ...settings, name: 'two' })];
  const fed = range(1, 120);
  inbox.feed(...fed.map((n) => ({ n, key: 'hot' })));
  await until(async () => (await inbox.kept()).length === fed.length, 60_000);
  const byWorkflows = () => consumers.reduce((sum, one) => sum + one.drainsOfWorkflows(), 0);
  await until(async () => {
    // It does not run out of tries in this time.
    await inbox.database.query('update outbox.parked set attempts = 1 where attempts > 20');
    return byWorkflows() >= 3;
  }, 60_000);
  open = true;
  await until(async () => (await inbox.parkedKeys()) === 0, 120_000);

  expect(await inbox.effects()).toEqual(fed);
  expect([overlaps, wasted]).toEqual([[], []]);
});
