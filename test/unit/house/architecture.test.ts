import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { transitions } from '../../../src/core/transitions.ts';

test('ARCHITECTURE.md lists exactly the legal transitions', () => {
  const text = readFileSync(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| (?<from>[a-z]+) \| (?<to>[a-z]+) \| (?<by>[^|]+) \|$/gm)]
    .map((match) => ({ from: match[1], to: match[2], by: match[3] }))
    .filter((row) => row.from !== 'from');

  expect(rows).toEqual(transitions);
});
