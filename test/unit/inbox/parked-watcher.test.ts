import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { gate } from '../../support/fixtures/gate.ts';
import { due, watcherStage } from './watcher-bench.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

test('it looks every second, at once after a nudge, and not after a stop', async () => {
  const { end, pass, watcher, world } = watcherStage();
  await pass(5_000);
  expect(world.looks, 'it was not started').toBe(0);
  watcher.start();
  watcher.start();
  await pass(0);
  expect(world.looks).toBe(1);
  await pass(998);
  expect(world.looks).toBe(1);
  await pass(2);
  expect(world.looks).toBe(2);
  await pass(60);
  watcher.nudge();
  await pass(0);
  expect(world.looks).toBe(3);
  watcher.nudge();
  watcher.nudge();
  await pass(40);
  expect(world.looks, 'nudges in quick succession are one').toBe(3);
  await pass(20);
  expect(world.looks).toBe(4);
  await end();
  watcher.nudge();
  await pass(5_000);
  expect(world.looks).toBe(4);
});

test('while others have tries in hand it looks more often, and waits for keys only until they are due', async () => {
  const { database, end, nextLookMs, pass, watcher, world } = watcherStage();
  world.dead = { keys: [], others: true };
  watcher.start();
  await pass(60);
  expect(await nextLookMs()).toBe(390);
  expect(await nextLookMs()).toBe(400);
  world.dead = { keys: [], others: false };
  expect(await nextLookMs()).toBe(400);
  expect(await nextLookMs()).toBe(1_000);
  database.on('k.next_at > outbox.clock() and', () => [{ inMs: 700 }]);
  expect(await nextLookMs(), 'workflows drain what becomes due').toBe(1_000);
  world.hosting = false;
  await nextLookMs();
  expect(await nextLookMs()).toBe(700);
  database.on('k.next_at > outbox.clock() and', () => [{ inMs: 1 }]);
  await nextLookMs();
  expect(await nextLookMs(), 'five times a second at most').toBe(200);
  await end();
});

test('a failed look is reported and repeated after a pause that doubles and that no nudge shortens', async () => {
  const { database, end, failed, pass, watcher, world } = watcherStage();
  let broken = true;
  database.on('outbox.due_keys', () => {
    if (broken) throw new Error('away');
    return [];
  });
  watcher.start();
  await pass(0);
  for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
    const before = world.looks;
    expect(failed.at(-1)).toEqual({ what: 'look', error: new Error('away'), retryInMs: pauseMs });
    watcher.nudge();
    await pass(pauseMs - 1);
    expect(world.looks).toBe(before);
    await pass(1);
    expect(world.looks).toBe(before + 1);
  }
  broken = false;
  await pass(10_000);
  broken = true;
  await pass(1_000);
  expect(failed.at(-1)).toMatchObject({ retryInMs: 1_000 });
  broken = true;
  const before = failed.length;
  await end();
  expect(failed).toHaveLength(before);
});

test('it starts dead, unstarted, lost and late keys, each once and for the first of these reasons', async () => {
  const { database, end, pass, started, watcher, world } = watcherStage();
  world.dead = { keys: [due(1, { replace: 'always' })] as never, others: false };
  database.on('k.told_at is null', () => [due(2), due(1)]);
  database.on('outbox.due_keys', () => [
    due(2, { wanted: true, replace: 'if-idle', idle: false }),
    due(3, { wanted: true, replace: 'if-idle', idle: false }),
    due(4, { lateMs: 300, replace: 'always' }),
    due(5, { lateMs: 299 }),
  ]);
  watcher.start();
  await pass(0);

  expect(started).toEqual([
    ['key-1', 'always'],
    ['key-2', 'never'],
    ['key-3', 'if-idle'],
    ['key-4', 'never'],
  ]);
  expect(database.said('k.told_at is null')[0]).toEqual(['shop', 100]);
  expect(database.said('outbox.due_keys')[0]?.slice(0, 4)).toEqual([
    'shop',
    '-infinity',
    '00000000-0000-0000-0000-000000000000',
    100,
  ]);
  await end();
});

test('before it is supervised nothing is started, and stand-ins drain everything', async () => {
  let begin = (): void => undefined;
  const supervised = new Promise<void>((resolve) => (begin = resolve));
  const { database, end, offered, pass, started, watcher } = watcherStage({ supervised });
  database.on('k.told_at is null', () => [due(1)]);
  database.on('outbox.due_keys', () => [due(1)]);
  watcher.start();
  await pass(0);
  expect([started, offered]).toEqual([[], [['key-1']]]);
  expect(database.said('outbox.bulk_operation')).toEqual([]);

  begin();
  await pass(60);
  expect(started).toEqual([['key-1', 'never']]);
  expect(offered.at(-1), 'its workflow gets a moment').toEqual([]);
  await end();
});

test('bulk operations are hosted while one runs, and started when wanted', async () => {
  const { database, end, pass, started, watcher } = watcherStage();
  watcher.start();
  await pass(0);
  expect(started).toEqual([]);
  database.on('select 1 from outbox.bulk_operation', () => [{}]);
  database.on('update outbox.bulk_operation b set told_at', () => [
    { id: 'bulk', workflowId: 'w', replace: false },
  ]);
  await pass(1_000);
  expect(started).toEqual(['host', 'bulk']);
  const asked = database.said('select 1 from outbox.bulk_operation').length;
  await pass(1_000);
  expect(database.said('select 1 from outbox.bulk_operation')).toHaveLength(asked);
  await end();
});

test('a walk continues where the last look has ended, and a finished drain continues it', async () => {
  const { database, end, pass, watcher, world } = watcherStage();
  const page = Array.from({ length: 100 }, (_, n) => due(n, { idle: false }));
  let rows: readonly object[] = page;
  database.on('outbox.due_keys', () => rows);
  watcher.start();
  // It looks twice: what was supervised from the beginning is a nudge.
  await pass(60);
  watcher.drained();
  await pass(60);
  expect(world.looks).toBe(3);
  rows = [];
  watcher.drained();
  await pass(60);
  expect(world.looks).toBe(4);
  expect(database.said('outbox.due_keys').map((values) => values.slice(1, 3))).toEqual([
    ['-infinity', '00000000-0000-0000-0000-000000000000'],
    ['at 99', 'key-99'],
    ['at 99', 'key-99'],
    ['at 99', 'key-99'],
  ]);
  watcher.drained();
  await pass(60);
  expect(world.looks, 'there is no more').toBe(4);
  await end();
});

test('a full page of starts requests the next one at once', async () => {
  const { database, end, pass, started, watcher, world } = watcherStage();
  let page = Array.from({ length: 100 }, (_, n) => due(n));
  database.on('k.told_at is null', () => page.splice(0));
  watcher.start();
  await pass(60);
  expect(started).toHaveLength(100);
  await pass(60);
  expect(world.looks).toBe(2);
  page = [due(1)];
  await pass(1_000);
  const before = world.looks;
  await pass(100);
  expect(world.looks).toBe(before);
  await end();
});

test('a look in progress at a stop starts and offers nothing more', async () => {
  let go = (): void => undefined;
  const { database, end, offered, pass, started, watcher } = watcherStage({
    endDeadTries: () => new Promise((resolve) => (go = () => resolve({ keys: [], others: false }))),
  });
  database.on('k.told_at is null', () => [due(1)]);
  database.on('outbox.due_keys', () => [due(1)]);
  watcher.start();
  await pass(0);
  const stopping = watcher.stop();
  go();
  await stopping;
  await end();

  expect([started, offered]).toEqual([[], []]);
});

test('a stop waits for the look in progress and for the starts', async () => {
  const [looking, starting] = [gate(), gate()];
  const { database, pass, watcher, world } = watcherStage({
    endDeadTries: async () => {
      await looking.opened;
      return world.dead;
    },
  });
  watcher.start();
  await pass(0);
  let ended = false;
  const stopping = watcher.stop().then(() => (ended = true));
  await pass(0);
  expect(ended).toBe(false);
  looking.open();
  await stopping;

  const other = watcherStage({
    workflows: { start: () => starting.opened, check: async () => undefined, hosting: () => true },
  });
  other.database.on('k.told_at is null', () => [due(1)]);
  other.watcher.start();
  await other.pass(0);
  ended = false;
  const ending = other.watcher.stop().then(() => (ended = true));
  await other.pass(0);
  expect(ended).toBe(false);
  starting.open();
  await ending;
  expect(other.database.said('set told_at = outbox.clock()')).toHaveLength(1);
  expect(database.said('set told_at = outbox.clock()')).toEqual([]);
});
