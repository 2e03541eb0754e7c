/** Generates docs/internal/proofs.md from test/promises.ts and the tags of tests. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { createJiti } from 'jiti';
import { parseSync, Visitor } from 'oxc-parser';

const head = `# Promises, and the tests behind them

Generated from \`test/promises.ts\` and the tags of tests by \`npm run generated\`; do not edit. Every promise of
[promises.md](../promises.md) in detail, with the tests that show it. \`npx vitest run --tags-filter no-loss\` runs those of one;
\`npm run test:mutations\` breaks each promise and expects a test to fail. \`I…\` and \`F…\` are defined in [invariants.md](invariants.md).
`;

/** Every tagged test below the folder: its file, its title as it is written, and its tags. */
export function taggedTests(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .toSorted()
    .flatMap((name) => testsOf(`${folder}/${name}`));
}

function testsOf(path) {
  const text = readFileSync(path, 'utf8');
  // Of a file whose tests show one promise together, its first line.
  const found = [...text.matchAll(/^\/\/ @module-tag (?<tag>\S+)$/gm)].map(({ groups }) => ({
    path,
    title: 'all of its tests',
    tags: [groups.tag],
  }));
  if (!text.includes('tags: [')) return found;
  new Visitor({
    CallExpression({ arguments: [title, options] }) {
      if (options?.type !== 'ObjectExpression') return;
      const tags = options.properties.find(({ key }) => key?.name === 'tags')?.value;
      if (tags?.type !== 'ArrayExpression') return;
      const written = text.slice(title.start + 1, title.end - 1);
      found.push({ path, title: written, tags: tags.elements.map(({ value }) => value) });
    },
  }).visit(parseSync(path, text).program);
  return found;
}

/** The page: the promises in their order, each with its tests. */
export function proofsPage(promises, tests) {
  const parts = Object.entries(promises).map(([tag, words]) => {
    const shown = tests
      .filter(({ tags }) => tags.includes(tag))
      .map(({ path, title }) => `- \`${path}\`: ${title.replaceAll(String.raw`\'`, "'")}`);
    return `## ${tag}\n\n${words}\n\n${shown.join('\n')}\n`;
  });
  return `${head}\n${parts.join('\n')}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { promises } = await createJiti(import.meta.url).import('../test/promises.ts');
  writeFileSync('docs/internal/proofs.md', proofsPage(promises, taggedTests('test')));
}
