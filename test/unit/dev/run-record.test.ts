import { expect, test } from 'vitest';
import { decideReap, type RunRecord } from '../../../dev/servers/process/run-record.ts';

const record: RunRecord = {
  id: 'postgres-10-abc',
  server: 'PostgreSQL',
  space: 'here',
  parent: { pid: 10, startedAt: 'monday' },
  child: { pid: 20, startedAt: 'tuesday' },
  stopSignal: 'SIGINT',
};

/** What is decided about a record while these processes run. */
function decide(running: Readonly<Record<number, string>>, changes: Partial<RunRecord> = {}, space = 'here') {
  return decideReap({ ...record, ...changes }, { space, startedAtOf: (pid) => running[pid] });
}

test('a server whose parent runs is left running', () => {
  expect(decide({ 10: 'monday', 20: 'tuesday' })).toBe('leave');
});

test('a server whose parent is gone is killed', () => {
  expect(decide({ 20: 'tuesday' })).toBe('kill');
});

test('a parent whose id was reused by a later process is gone', () => {
  expect(decide({ 10: 'friday', 20: 'tuesday' })).toBe('kill');
});

test('a process that reuses the id of an ended server is never killed', () => {
  expect(decide({ 20: 'friday' })).toBe('remove');
});

test('the remains of two ended processes are removed', () => {
  expect(decide({})).toBe('remove');
});

test('a folder created before its server ran is removed', () => {
  const { child: _, ...withoutChild } = record;

  expect(decideReap(withoutChild, { space: 'here', startedAtOf: () => undefined })).toBe('remove');
});

test('a record of another machine or container is ignored', () => {
  expect(decide({}, {}, 'elsewhere')).toBe('leave');
});
