import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WorkflowStarts } from '../../../src/inbox/parked/workflow-starts.ts';
import type { BulkStart } from '../../../src/store/bulk/starts.ts';
import type { WantedKey } from '../../../src/store/inbox/parked-keys.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';
import { wanted } from './watcher-bench.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const keys = (count: number): readonly WantedKey[] =>
  Array.from({ length: count }, (_, n) => wanted(n, n === 0 ? null : `told-${n}`));

/** Starts with a Temporal that fails, hangs or answers as the test says. */
function stage() {
  const database = new ScriptedClient();
  const failed: unknown[] = [];
  const asked: string[] = [];
  const temporal = {
    hosting: true,
    away: false,
    answered: 0,
    /** What a question is answered with. */
    answer: async (_question: string): Promise<void> => undefined,
  };
  const question = (name: string): Promise<void> => {
    asked.push(name);
    return temporal.answer(name);
  };
  const starts = new WorkflowStarts({
    withSql: database.ask,
    workflows: {
      start: ({ keyId }) => question(keyId),
      check: () => question('check'),
      hosting: () => temporal.hosting,
    },
    bulks: { host: () => question('host'), start: ({ id }) => question(`bulk ${id}`) },
    failed: (failure) => failed.push(failure),
    away: () => temporal.away,
    answered: () => (temporal.answered += 1),
  });
  let ended = 0;
  return {
    asked,
    database,
    failed,
    starts,
    temporal,
    ended: () => ended,
    /** Begins a round, and lets it come as far as it can. */
    begin: async (some: readonly WantedKey[], bulks?: readonly BulkStart[]) => {
      starts.begin({ keys: some, bulks }, () => (ended += 1));
      for (let n = 0; n < 20; n += 1) await Promise.resolve();
      await turn();
    },
  };
}

const refuse =
  (...those: readonly string[]) =>
  async (question: string): Promise<void> => {
    if (those.length === 0 || those.includes(question)) throw new Error(`no ${question}`);
  };
const hang = (): Promise<void> => new Promise(() => undefined);

test('an unreachable Temporal ends the round early, is reported once a round, and is asked ever less often', async () => {
  const { asked, begin, database, ended, failed, starts, temporal } = stage();
  temporal.answer = refuse();

  await begin(keys(30));

  expect(asked, 'as many as begin at once').toHaveLength(20);
  expect(failed).toEqual([{ what: 'start', error: new Error('no key-0'), retryInMs: 1_000 }]);
  expect([ended(), temporal.answered, starts.hostsKeys, starts.answering]).toEqual([0, 0, false, false]);
  expect(database.said('set told_at')).toEqual([]);

  const pauses = [1_000, 2_000, 4_000, 8_000, 10_000, 10_000];
  for (const [n, pauseMs] of pauses.entries()) {
    vi.advanceTimersByTime(pauseMs - 1);
    expect(starts.ready).toBe(false);
    await begin([]);
    vi.advanceTimersByTime(1);
    expect(starts.ready).toBe(true);
    // Also when nothing is to be started.
    await begin([]);
    expect(asked).toHaveLength(21 + n);
    expect(asked.at(-1)).toBe('check');
  }
  expect(failed).toHaveLength(7);

  vi.advanceTimersByTime(10_000);
  temporal.answer = async () => undefined;
  await begin([]);
  expect([starts.answering, temporal.answered]).toEqual([true, 1]);
  const before = asked.length;
  await begin([]);
  expect(asked, 'it is not asked any more').toHaveLength(before);
  temporal.answer = refuse();
  await begin(keys(1));
  expect(failed.at(-1)).toMatchObject({ retryInMs: 1_000 });
});

test('after a partly failed round the rest is started and marked', async () => {
  const { begin, database, ended, failed, starts, temporal } = stage();
  temporal.answer = refuse('key-1');

  await begin(keys(3));

  expect(database.said('set told_at').map(([ids]) => ids)).toEqual([['key-0', 'key-2']]);
  expect(failed).toEqual([{ what: 'start', error: new Error('no key-1'), retryInMs: 1_000 }]);
  expect([ended(), temporal.answered, starts.hostsKeys]).toEqual([0, 0, true]);
  expect(starts.answering, 'it has answered to the others').toBe(true);
});

const bulk = (id: string): BulkStart => ({ id, workflowId: `bulk/${id}`, replace: false });

test('marks of bulk operations that were not started are removed, so that the next look finds them', async () => {
  const { asked, begin, database, failed, starts, temporal } = stage();
  temporal.answer = refuse('bulk b');

  await begin([], [bulk('a'), bulk('b'), bulk('c')]);

  expect(asked).toEqual(['host', 'bulk a', 'bulk b']);
  expect(database.said('outbox.bulk').map((values) => values[0])).toEqual(['b', 'c']);
  expect(failed).toEqual([{ what: 'start', error: new Error('no bulk b'), retryInMs: 1_000 }]);
  expect(starts.hostsBulks).toBe(true);

  const away = stage();
  away.temporal.answer = refuse('bulk a');
  away.database.on('outbox.bulk', () => {
    throw new Error('away');
  });
  await away.begin([], [bulk('a')]);
  expect(away.failed).toEqual([{ what: 'look', error: new Error('away'), retryInMs: 1_000 }]);

  const unhosted = stage();
  unhosted.temporal.answer = refuse('host');
  await unhosted.begin([], [bulk('a')]);
  expect(unhosted.starts.hostsBulks).toBe(false);
  expect(unhosted.database.said('outbox.bulk')).toHaveLength(1);
});

test('rounds run one at a time, and after a second without an answer Temporal counts as silent', async () => {
  const { asked, begin, starts, temporal } = stage();
  temporal.answer = hang;
  vi.advanceTimersByTime(5_000);

  await begin(keys(1));
  await begin(keys(2));

  expect(asked).toEqual(['key-0']);
  expect(starts.ready).toBe(false);
  expect(starts.answering, 'it was asked just now').toBe(true);
  vi.advanceTimersByTime(999);
  expect(starts.answering).toBe(true);
  vi.advanceTimersByTime(1);
  expect(starts.answering).toBe(false);
});

test('an answer counts from its arrival, and does not help without workers of this process', async () => {
  const { begin, starts, temporal } = stage();
  let answers = 0;
  temporal.answer = async () => {
    if (answers === 20) return hang();
    answers += 1;
    if (answers === 20) vi.advanceTimersByTime(900);
  };
  await begin(keys(21));
  vi.advanceTimersByTime(999);
  expect(starts.answering).toBe(true);
  temporal.hosting = false;
  expect(starts.answering).toBe(false);
});

test('a stop waits for the starts in progress, begins no other, and reports no answer any more', async () => {
  const { asked, begin, failed, starts, temporal } = stage();
  const under: (() => void)[] = [];
  temporal.answer = () => new Promise((resolve) => void under.push(resolve));
  await begin(keys(40));
  expect(asked).toHaveLength(20);
  let stopped = false;
  const stopping = starts.stop().then(() => (stopped = true));
  await turn();
  expect(stopped).toBe(false);

  for (const answer of under) answer();
  await stopping;

  expect(asked).toHaveLength(20);
  expect(starts.ready).toBe(false);
  await begin(keys(1));
  expect([asked.length, failed, temporal.answered]).toEqual([20, [], 0]);
});

test('a stop does not wait for an unreachable Temporal, and reports no failure any more', async () => {
  const { begin, failed, starts, temporal } = stage();
  temporal.answer = refuse();
  await begin(keys(1));
  vi.advanceTimersByTime(1_000);
  let fail = (): void => undefined;
  temporal.answer = () => new Promise((_, reject) => (fail = () => reject(new Error('no'))));
  await begin(keys(1));

  const first = await Promise.race([starts.stop(), delay(500, 'it waits')]);

  expect(first).toBe(undefined);
  fail();
  await turn();
  expect(failed).toHaveLength(1);
});
