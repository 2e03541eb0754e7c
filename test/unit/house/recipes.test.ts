import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);

/** Pages whose programs are files that run as tests, by the folders of those. */
const folders: Readonly<Record<string, string>> = {
  'docs/transactions.md': 'test/recipes/',
  'docs/transports/own.md': 'test/transports/own/',
};

/** As a user writes it. */
function published(file: string): string {
  return readFileSync(new URL(file, root), 'utf8')
    .replaceAll(/'(?:\.\.\/)+src\/index\.ts'/g, `'temporal-outbox'`)
    .replaceAll(/'(?:\.\.\/)+src\/(\w+)\.ts'/g, `'temporal-outbox/$1'`);
}

describe.each(Object.entries(folders))('%s', (name, folder) => {
  const page = readFileSync(new URL(name, root), 'utf8');
  const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  const files = readdirSync(new URL(folder, root)).toSorted();

  test.each(files)('it shows a program that runs as a test: %s', { tags: ['recipes-work'] }, (file) => {
    expect(blocks).toContain(published(folder + file));
  });

  test('all of its programs run as tests', () => {
    expect(files.length).toBeGreaterThan(1);
    expect(blocks).toHaveLength(files.length);
  });
});

test('the transport of docs/transports/own.md has at most 80 lines', () => {
  const lines = readFileSync(new URL('test/transports/own/spool.ts', root), 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(80);
});
