import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WorkflowStarter } from '../../../src/relay/ports.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { StandIns } from '../../../src/relay/stand-ins.ts';
import { Starter } from '../../../src/relay/starter.ts';
import { Supervision } from '../../../src/relay/supervision.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const lanes = 'from outbox.want_lanes(';
const untold = 'from outbox.untold_messages(';
const mark = 'set workflow_due_at = t.due_at';
const forget = 'set workflow_due_at = null';
const bulks = 'from outbox.bulk_operation';
const forgetBulk = 'update outbox.bulk_operation set told_at = case';

const laneStart = (lane: number) => ({ topic: 'orders', lane, workflowId: `w${lane}`, replace: false });
const messages = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => ({ id: `id-${from + n}`, dueAt: `due-${from + n}` }));

/** A starter whose engine and database follow a test; its stand-ins drain nothing. */
function stage({ supervised = true } = {}) {
  const events: RelayEvent[] = [];
  const database = new ScriptedDatabase();
  const started: string[] = [];
  const drained: number[] = [];
  const script = {
    start: (_id: string): Promise<void> => Promise.resolve(),
    terminated: (): Promise<readonly string[]> => Promise.resolve([]),
    terminatedAsked: 0,
  };
  const workflows: WorkflowStarter = {
    startLane: async ({ lane }) => script.start(`lane ${lane}`).then(() => void started.push(`lane ${lane}`)),
    startMessage: async ({ id }) => script.start(id).then(() => void started.push(id)),
    startBulk: async ({ id }) => script.start(id).then(() => void started.push(id)),
    terminatedMessages: () => {
      script.terminatedAsked += 1;
      return script.terminated();
    },
  };
  const report = (event: RelayEvent) => void events.push(event);
  const supervision = new Supervision(report);
  if (supervised) supervision.begin(workflows);
  const standIns = new StandIns({
    drain: async ({ lane }) => {
      drained.push(lane);
      return 'quiet';
    },
    ask: async () => true,
    left: () => undefined,
    report,
  });
  const starter = new Starter({ database, supervision, standIns, topics: ['orders', 'bills'], report });
  return { starter, database, started, drained, events, script };
}

test('every wanted lane is requested and offered to a stand-in, and started ones are counted', async () => {
  const { starter, database, started, drained, events, script } = stage();
  database.on(lanes, [laneStart(0), laneStart(1), laneStart(2)]);
  script.start = (name) => (name === 'lane 1' ? Promise.reject(new Error('down')) : Promise.resolve());
  await byNow(starter.startLanes());
  expect(database.valuesOf(lanes)[0]?.slice(0, 2)).toEqual([['orders', 'bills'], false]);
  await pass(0);
  expect(started).toEqual(['lane 0', 'lane 2']);
  expect(drained).toEqual([1]);
  expect(events.map(({ type }) => type)).toEqual(['lanes-started']);
  expect(events.at(-1)).toEqual({ type: 'lanes-started', count: 2 });
  await pass(300);
  expect(drained).toEqual([1, 0, 2]);
});

test('without an engine all lanes are drained at once, and none counts as started', async () => {
  const { starter, database, drained, events } = stage({ supervised: false });
  database.on(lanes, [laneStart(0), laneStart(1)]);
  await byNow(starter.startLanes());
  await pass(0);
  expect(drained).toEqual([0, 1]);
  expect(events).toEqual([]);
});

test('an engine that does not answer delays no search for lanes', async () => {
  const { starter, database, script } = stage();
  database.on(lanes, [laneStart(0)]);
  script.start = () => new Promise(() => undefined);
  const first = soFar(starter.startLanes());
  await pass(0);
  expect(first.state).toBe('resolved');
});

test('orphans are searched five times a second, and less often while a search is slow', async () => {
  const { starter, database } = stage();
  const searches = () => database.valuesOf(lanes).length;
  database.on(lanes, []);
  await byNow(starter.startOrphans());
  expect(database.valuesOf(lanes)[0]?.[1]).toBe(true);
  await pass(199);
  await byNow(starter.startOrphans());
  expect(searches()).toBe(1);
  await pass(1);
  database.on(lanes, async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return [];
  });
  void starter.startOrphans();
  await pass(100);
  expect(searches()).toBe(2);
  await pass(999);
  await byNow(starter.startOrphans());
  expect(searches()).toBe(2);
  await pass(1);
  void starter.startOrphans();
  await pass(100);
  expect(searches()).toBe(3);
});

test('messages are started page by page until a page is not full, and only started ones are marked', async () => {
  const { starter, database, started, events } = stage();
  const pages = [messages(200), messages(200, 200), messages(3, 400)];
  database.on(untold, () => pages.shift() ?? []).on(mark, ([ids]) => (ids as string[]).map((id) => ({ id })));
  await byNow(starter.startMessages());
  expect(started).toHaveLength(403);
  expect(database.valuesOf(untold)).toEqual([
    [200, [], null],
    [200, [], 'due-199'],
    [200, [], 'due-399'],
  ]);
  expect(
    database.valuesOf(mark).map(([ids, due]) => [(ids as string[]).length, (due as string[])[0]]),
  ).toEqual([
    [200, 'due-0'],
    [200, 'due-200'],
    [3, 'due-400'],
  ]);
  expect(events).toEqual([200, 200, 3].map((count) => ({ type: 'messages-started', count })));
});

test('twenty messages are started at a time', async () => {
  const { starter, database, script } = stage();
  let [open, most] = [0, 0];
  script.start = async () => {
    most = Math.max(most, ++open);
    await new Promise((resolve) => setTimeout(resolve, 10));
    open -= 1;
  };
  database.on(untold, messages(50)).on(mark, []);
  void starter.startMessages();
  await pass(100);
  expect(most).toBe(20);
});

test('a failed start is reported once, started messages are marked, and no further page is read', async () => {
  const { starter, database, started, events, script } = stage();
  const down = new Error('down');
  script.start = (id) => (Number(id.slice(3)) >= 40 ? Promise.reject(down) : Promise.resolve());
  database.on(untold, messages(200)).on(mark, []);
  await byNow(starter.startMessages());
  expect(started).toHaveLength(40);
  expect(database.valuesOf(untold)).toHaveLength(1);
  expect(database.valuesOf(mark)[0]?.[0]).toHaveLength(40);
  expect(events).toEqual([
    { type: 'messages-started', count: 40 },
    { type: 'error', during: 'start-messages', error: down },
  ]);
});

test('nothing is marked or reported without a message or an engine', async () => {
  for (const supervised of [true, false]) {
    const { starter, database, events } = stage({ supervised });
    database.on(untold, []);
    await byNow(starter.startMessages());
    expect(database.asked).toHaveLength(supervised ? 1 : 0);
    expect(events).toEqual([]);
  }
});

test('terminated workflows are searched every five seconds, and their messages are started again', async () => {
  const { starter, database, script } = stage();
  await byNow(starter.restartTerminated());
  await pass(4_999);
  await byNow(starter.restartTerminated());
  expect(script.terminatedAsked).toBe(1);
  expect(database.asked).toEqual([]);
  script.terminated = async () => ['id-1', 'id-2'];
  database.on(forget, []);
  await pass(1);
  await byNow(starter.restartTerminated());
  expect(script.terminatedAsked).toBe(2);
  expect(database.valuesOf(forget)).toEqual([[['id-1', 'id-2']]]);
});

test('a bulk operation whose workflow does not start is reported and its mark removed, and the others are started', async () => {
  const { starter, database, script, started, events } = stage();
  const operations = ['b1', 'b2', 'b3'].map((id) => ({ id, workflowId: id, replace: id === 'b2' }));
  const down = new Error('down');
  script.start = (id) => (id === 'b2' ? Promise.reject(down) : Promise.resolve());
  database.on(bulks, operations).on(forgetBulk, []);
  await byNow(starter.startBulks());
  expect(started).toEqual(['b1', 'b3']);
  expect(database.valuesOf(forgetBulk)).toEqual([['b2', true]]);
  expect(events).toEqual([
    { type: 'bulk-started', id: 'b1' },
    { type: 'error', during: 'start-bulk', error: down },
    { type: 'bulk-started', id: 'b3' },
  ]);
});

test('without an engine neither bulk operations nor terminated workflows are looked for', async () => {
  const { starter, database, script, events } = stage({ supervised: false });
  await byNow(starter.startBulks());
  await byNow(starter.restartTerminated());
  expect(database.asked).toEqual([]);
  expect(script.terminatedAsked).toBe(0);
  expect(events).toEqual([]);
});

test('a failure is reported with the action that failed', async () => {
  const { starter, database, script, events } = stage();
  const error = new Error('no connection');
  database.refuse(lanes, error).refuse(untold, error).refuse(bulks, error);
  script.terminated = () => Promise.reject(error);
  await byNow(starter.startLanes());
  await byNow(starter.startOrphans());
  await byNow(starter.startMessages());
  await byNow(starter.restartTerminated());
  await byNow(starter.startBulks());
  expect(events).toEqual(
    ['start-lanes', 'start-lanes', 'start-messages', 'start-messages', 'start-bulk'].map((during) => ({
      type: 'error',
      during,
      error,
    })),
  );
});

test('a stopped starter starts and requests nothing, and its stop waits for requests in progress', async () => {
  const { starter, database, script, started } = stage();
  database.on(untold, messages(30)).on(mark, []);
  script.start = () => new Promise((resolve) => setTimeout(resolve, 100));
  void starter.startMessages();
  await pass(0);
  const stopped = soFar(starter.stop());
  await pass(99);
  expect(stopped.state).toBe('open');
  await pass(1);
  expect(stopped.state).toBe('resolved');
  expect(started).toHaveLength(20);
  const asked = database.asked.length;
  await byNow(starter.startLanes());
  await byNow(starter.startOrphans());
  await byNow(starter.startMessages());
  await byNow(starter.restartTerminated());
  await byNow(starter.startBulks());
  expect(database.asked).toHaveLength(asked);
  expect(script.terminatedAsked).toBe(0);
});
