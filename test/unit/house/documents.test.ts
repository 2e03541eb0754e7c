import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { projectFiles, textOf } from './project-files.ts';

const paths = projectFiles();
const documents = paths
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: textOf(path) ?? '' }));

/** The relative links of a document, outside of code: the path from the root, and the heading. */
function linksOf({ path, text }: (typeof documents)[number]) {
  const prose = text.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\((?![a-z]+:)(?<file>[^)#]*)(?:#(?<heading>[^)]*))?\)/g)].map(({ groups }) => {
    const file = groups?.['file'] ?? '';
    return {
      path,
      target: file === '' ? path : posix.join(posix.dirname(path), file),
      heading: groups?.['heading'],
    };
  });
}

/** The anchors that GitHub gives the headings of a document. */
function anchorsOf(path: string): readonly string[] {
  return [...(textOf(path) ?? '').matchAll(/^#+ (?<title>.+)$/gm)].map(({ groups }) =>
    (groups?.['title'] ?? '')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

const links = documents.flatMap(linksOf);

test('every relative link of a document leads to a file and to an existing heading', () => {
  expect(links.length).toBeGreaterThan(20);
  const broken = links.filter(
    ({ target, heading }) =>
      !paths.includes(target) || (heading !== undefined && !anchorsOf(target).includes(heading)),
  );
  expect(broken).toEqual([]);
});

test('docs/README.md lists every document of the folder', () => {
  const listed = new Set(links.filter(({ path }) => path === 'docs/README.md').map(({ target }) => target));
  const there = documents.map(({ path }) => path).filter((path) => /^docs\/(?!README)/.test(path));
  expect(there.filter((path) => !listed.has(path))).toEqual([]);
});

test('the page of each transport links to an example that runs on it', () => {
  const pages = documents.filter(({ path }) => /^docs\/transports\/(?!README|own)/.test(path));
  expect(pages).toHaveLength(6);
  for (const { path } of pages) {
    const maker = new RegExp(`\\b${posix.basename(path, '.md')}\\w*\\(\\{`);
    const linked = links.filter((link) => link.path === path && /^examples\/[\w-]+\//.test(link.target));
    expect(linked, path).not.toEqual([]);
    for (const { target } of linked) {
      const own = paths.filter(
        (file) => file.startsWith(`${posix.dirname(target)}/`) && file.endsWith('.ts'),
      );
      expect(
        own.some((file) => maker.test(textOf(file) ?? '')),
        `${path}: ${target}`,
      ).toBe(true);
    }
  }
});

test('every document that a published one links to is published', () => {
  const { files = [] } = JSON.parse(textOf('package.json') ?? '{}') as { files?: readonly string[] };
  // npm packs these whatever `files` says.
  const published = (path: string) =>
    ['README.md', 'LICENSE'].includes(path) ||
    files.some((entry) => path === entry || path.startsWith(`${entry}/`));
  const dead = links.filter(({ path, target }) => published(path) && !published(target));
  expect(dead).toEqual([]);
});

test.each([
  { kind: 'documents', those: /^(?:README\.md|docs\/)/, most: 28_500 },
  { kind: 'pages of examples', those: /^examples\//, most: 6_000 },
])('users read at most $most words of $kind, without the generated reference pages', ({ most, those }) => {
  const generated = new Set(
    ['errors', 'http-api', 'metrics', 'options', 'runbook', 'states'].map((page) => `docs/${page}.md`),
  );
  const pages = documents.filter(
    ({ path }) => those.test(path) && !path.startsWith('docs/internal/') && !generated.has(path),
  );
  expect(pages.length).toBeGreaterThan(10);
  const words = pages.flatMap(({ text }) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)));
  expect(words.length).toBeLessThanOrEqual(most);
});
