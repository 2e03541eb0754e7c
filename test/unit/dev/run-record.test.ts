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

const { child: _, ...withoutChild } = record;

test.each<readonly [string, string, RunRecord, Readonly<Record<number, string>>]>([
  ['a server whose parent runs', 'leave', record, { 10: 'monday', 20: 'tuesday' }],
  ['a server whose parent is gone', 'kill', record, { 20: 'tuesday' }],
  ['a server whose parent’s id is that of a later process', 'kill', record, { 10: 'friday', 20: 'tuesday' }],
  ['what a process left whose id is that of a later one', 'remove', record, { 20: 'friday' }],
  ['the remains of two ended processes', 'remove', record, {}],
  ['a folder created before its server ran', 'remove', withoutChild, {}],
  ['a record of another machine or container', 'leave', { ...record, space: 'elsewhere' }, {}],
])('%s: %s', (_what, decision, of, running) => {
  expect(decideReap(of, { space: 'here', startedAtOf: (pid) => running[pid] })).toBe(decision);
});
