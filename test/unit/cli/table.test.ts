import { afterEach, expect, test, vi } from 'vitest';
import { table } from '../../../src/cli/table.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const heading = ['TOPIC', 'LANES', 'WAITS BECAUSE'];
const long = 'meter-reading-of-the-north';
const why = `no broker: ${'host-and-port '.repeat(6)}`.trim();
const id = '01900000-0000-7000-8000-000000000001';

test('a table fits its terminal: long cells are cut, the last column is wrapped, and ids stay whole', () => {
  vi.stubEnv('COLUMNS', '60');
  const lines = table(heading, [[long, id.slice(0, 8), why]]).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
  expect(lines[1]).toMatch(/^meter-reading-of-/);
  expect(lines.length).toBeGreaterThan(2);
  const wide = table(['ID', 'TOPIC', 'WHY'], [[id, long, why]]).split('\n');
  expect(wide[1]).toContain(id);
  expect(wide[1]).toContain('…');
});

test('in a pipe or a file a row is a line with complete cells', () => {
  vi.stubEnv('COLUMNS', '');
  expect(table(heading, [[long, '4', why]]).split('\n')).toEqual([
    `${'TOPIC'.padEnd(long.length)}  LANES  WAITS BECAUSE`,
    `${long}  4      ${why}`,
  ]);
});
