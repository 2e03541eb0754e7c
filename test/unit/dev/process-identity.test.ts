import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { identityOf, isRunning } from '../../../dev/servers/process/process-identity.ts';

test('a process has its identity while it runs, and none once it has ended', async () => {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  const identity = identityOf(child.pid ?? 0);
  if (identity === undefined) throw new Error('A running process has an identity.');

  expect(isRunning(identity)).toBe(true);
  expect(isRunning({ ...identity, startedAt: 'earlier' })).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isRunning(identity)).toBe(false);
});

test('this process keeps its identity', () => {
  expect(identityOf(process.pid)).toEqual(identityOf(process.pid));
});
