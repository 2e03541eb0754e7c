// @module-tag apart
import { expect, test, vi } from 'vitest';
import { startPostgres } from '../../../dev/servers/index.ts';
import { startedAtOf } from '../../../dev/servers/process/process-identity.ts';
import { leftIn, ownCache, startParent } from '../../support/fixtures/local-cache.ts';

const running = (pids: readonly number[]) => pids.filter((pid) => startedAtOf(pid) !== undefined);

test('servers outlive a parent killed with -9, and the next start ends them and removes their data', {}, async () => {
  const { cache, env } = await ownCache();
  const parent = await startParent(env, 'all');
  expect(parent.pids).toHaveLength(3);

  parent.process.kill('SIGKILL');
  await parent.ended;
  expect(running(parent.pids)).toEqual(parent.pids);

  const next = await startPostgres({ env, durable: false });
  expect(running(parent.pids)).toEqual([]);
  expect(leftIn(cache).every((entry) => entry.includes(`-${process.pid}-`))).toBe(true);

  await next.stop();
  expect(leftIn(cache)).toEqual([]);
});

test('a start does not touch the servers of a parent that still runs', async () => {
  const { env } = await ownCache();
  const parent = await startParent(env);

  const mine = await startPostgres({ env, durable: false });
  await mine.stop();

  expect(running(parent.pids)).toEqual(parent.pids);
  parent.process.stdin?.end();
  await parent.ended;
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'servers end with a parent that gets %s',
  async (signal) => {
    const { cache, env } = await ownCache();
    const parent = await startParent(env);

    parent.process.kill(signal);

    expect(await parent.ended).toBe(signal);
    expect(running(parent.pids)).toEqual([]);
    expect(leftIn(cache)).toEqual([]);
  },
);

test('servers end with a parent that exits by itself without stopping them', async () => {
  const { cache, env } = await ownCache();
  const parent = await startParent(env);

  parent.process.stdin?.end();

  expect(await parent.ended).toBe(0);
  await vi.waitUntil(() => running(parent.pids).length === 0, 30_000);
  expect(leftIn(cache)).toEqual([]);
});

test('a parent that handles the signal itself keeps its servers until it has finished', async () => {
  const { cache, env } = await ownCache();
  const parent = await startParent(env, 'finishes-work');

  parent.process.kill('SIGINT');

  expect(await parent.ended).toBe(3);
  expect(running(parent.pids)).toEqual([]);
  expect(leftIn(cache)).toEqual([]);
});
