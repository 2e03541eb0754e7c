import { setImmediate as turn } from 'node:timers/promises';
import { vi } from 'vitest';
import { ParkedWatcher, type ParkedWatcherInput } from '../../../src/inbox/parked/parked-watcher.ts';
import type { DeadTries, WantedKey } from '../../../src/store/inbox/parked-keys.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';

/** A key whose workflow is to be started. */
export const wanted = (n: number, toldAt: string | null = null): WantedKey => ({
  keyId: `key-${n}`,
  workflowId: `workflow-${n}`,
  topic: 'orders',
  key: 'k',
  dueInMs: 0,
  replace: 'never',
  toldAt,
});

/** A due key as a look reads it. */
export const due = (n: number, differs: object = {}) => ({
  ...wanted(n),
  nextAt: `at ${n}`,
  wanted: false,
  idle: true,
  lateMs: null,
  ...differs,
});

/** A watcher whose clock is the fake one. */
export function watcherStage(given: Partial<ParkedWatcherInput> = {}) {
  const database = new ScriptedClient();
  const started: unknown[] = [];
  const offered: (readonly string[])[] = [];
  const failed: unknown[] = [];
  const world = {
    room: 10,
    looks: 0,
    hosting: true,
    dead: { keys: [], others: false } as Omit<DeadTries, 'gaveUp'>,
  };
  const watcher = new ParkedWatcher({
    group: 'shop',
    withSql: database.ask,
    workflows: {
      start: async ({ keyId, replace }) => void started.push([keyId, replace]),
      check: async () => undefined,
      hosting: () => world.hosting,
    },
    bulks: { host: async () => void started.push('host'), start: async ({ id }) => void started.push(id) },
    standIns: {
      get room() {
        return world.room;
      },
      offer: (ids) => offered.push(ids),
    },
    endDeadTries: async () => {
      world.looks += 1;
      return world.dead;
    },
    failed: (failure) => failed.push(failure),
    away: () => false,
    answered: () => undefined,
    ...given,
  });
  const settle = async (): Promise<void> => {
    for (let n = 0; n < 10; n += 1) await turn();
  };
  const pass = async (ms: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(ms);
    await settle();
  };
  return {
    database,
    failed,
    offered,
    started,
    watcher,
    world,
    /** Lets time pass, and what happens in it. */
    pass,
    /** How long it takes until the next look. */
    nextLookMs: async (): Promise<number> => {
      const before = world.looks;
      let ms = 0;
      for (; world.looks === before && ms < 5_000; ms += 10) await pass(10);
      return ms;
    },
    /** A stop waits for nothing but what is under way. */
    end: async (): Promise<void> => {
      let ended = false;
      void watcher.stop().then(() => (ended = true));
      await settle();
      if (!ended) throw new Error('It goes on after its stop.');
    },
  };
}
