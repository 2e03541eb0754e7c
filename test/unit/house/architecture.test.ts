import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { states, transitions } from '../../../src/core/transitions.ts';
import { statesPage } from '../../../tools/states-page.mjs';

test('docs/states.md shows exactly the legal transitions', () => {
  const page = readFileSync(new URL('../../../docs/states.md', import.meta.url), 'utf8');

  expect(page).toBe(statesPage(states, transitions));
  expect(page.match(/^\| [a-z]+ \| [a-z]+ \| /gm)).toHaveLength(transitions.length + 1);
});
