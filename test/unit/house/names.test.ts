import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { keptStates } from '../../../src/core/parked-states.ts';
import { states } from '../../../src/core/transitions.ts';
import { projectFiles, projectRoot } from './project-files.ts';

const sources = projectFiles().filter(
  (file) => /^(?:src|workflows|activities)\/.+\/?[^/]+\.ts$/.test(file) && !/^src\/[^/]+\.ts$/.test(file),
);
const read = (file: string): string => readFileSync(`${projectRoot}/${file}`, 'utf8');

/** Names that a file declares and offers to others; overloads once. */
function declared(file: string): ReadonlySet<string> {
  const declarations = read(file).matchAll(
    /^export (?:async )?(?:interface|type|class|function|const) (\w+)/gm,
  );
  return new Set(Array.from(declarations, ([, name]) => name ?? ''));
}

test('no two things of the project share a name', () => {
  const homes = new Map<string, string[]>();
  for (const file of sources)
    for (const name of declared(file)) homes.set(name, [...(homes.get(name) ?? []), file]);

  expect(homes.size).toBeGreaterThan(500);
  expect([...homes].filter(([, files]) => files.length > 1)).toEqual([]);
});

/** Types of the events of a union, as written in its file. */
const eventsIn = (file: string): readonly string[] =>
  Array.from(read(file).matchAll(/readonly type: '([a-z-]+)'/g), ([, type]) => type ?? '');

const glossary = read('ARCHITECTURE.md').split('## Glossary')[1]?.split('\n## ')[0] ?? '';
const terms = Array.from(glossary.matchAll(/^\| ([a-z, ]+) \| /gm), ([, term]) => term ?? '');

test('states, kept states and their subjects are in the glossary', () => {
  for (const state of new Set([...states, ...keptStates]))
    expect(glossary).toMatch(new RegExp(`\\b${state}\\b`));
  expect(terms).toEqual(
    expect.arrayContaining(['message', 'blocked', 'kept', 'parked', 'parked key', 'failed']),
  );
  expect(new Set(terms).size, 'each term once').toBe(terms.length);
});

test('an event named after a state means that state', () => {
  const named = new Set<string>([...states, ...keptStates]);
  const consumer = eventsIn('src/inbox/consumer-event.ts').filter((type) => named.has(type));
  const relay = eventsIn('src/relay/report.ts').filter((type) => named.has(type));

  expect(consumer).toEqual(['expired', 'parked', 'failed']);
  expect(relay).toEqual(['expired', 'failed']);
});
