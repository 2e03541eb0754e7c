import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);
const page = readFileSync(new URL('docs/transactions.md', root), 'utf8');
const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
const files = readdirSync(new URL('test/recipes/', root)).toSorted();

/** As a user writes it. */
function published(file: string): string {
  return readFileSync(new URL(`test/recipes/${file}`, root), 'utf8')
    .replaceAll(`'../../src/index.ts'`, `'temporal-outbox'`)
    .replaceAll(/'\.\.\/\.\.\/src\/(\w+)\.ts'/g, `'temporal-outbox/$1'`);
}

test.each(files)('docs/transactions.md shows what runs as a test: %s', (file) => {
  expect(blocks).toContain(published(file));
});

test('every program of docs/transactions.md runs as a test', () => {
  expect(blocks).toHaveLength(files.length);
  expect(files).toContain('topics.ts');
});
