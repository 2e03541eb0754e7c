import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Anchor, anchorsOf, withNames } from './anchor.ts';
import type { Mutation } from './mutation.ts';

/** A place in a file: the text between two indices. */
interface Scope {
  readonly path: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A file as it is with the bug in it. */
export interface Planted {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

const migrations = 'prisma/migrations';
/** Characters of a text that hardly stands in two files by chance. */
const recognizable = 30;

/** The bug as text, or why the entry no longer fits the sources. */
export function graft(root: string, { file, find, replace }: Mutation): Planted | string {
  const isFunction = file.startsWith('outbox.');
  const named = isFunction ? functionScope(root, file) : fileScope(root, file);
  const there = named === undefined ? [] : foundIn(named, find);
  const found = there.length === 0 && !isFunction ? moved(root, file, find) : there;
  const [place] = found;
  if (place === undefined && named === undefined) return `${file} does not exist`;
  if (place === undefined || found.length > 1) return `its text occurs ${found.length} times in ${file}`;
  const { anchor, scope } = place;
  const before = scope.text.slice(0, scope.start + anchor.start);
  const after = before + withNames(replace, anchor.renamed) + scope.text.slice(scope.start + anchor.end);
  return { path: scope.path, before: scope.text, after };
}

interface Place {
  readonly scope: Scope;
  readonly anchor: Anchor;
}

function foundIn(scope: Scope, find: string): readonly Place[] {
  return anchorsOf(scope.text.slice(scope.start, scope.end), find).map((anchor) => ({ scope, anchor }));
}

/** Where it stands word for word in other files of the same top folder, if it is long enough to be recognized. */
function moved(root: string, file: string, find: string): readonly Place[] {
  if (find.length < recognizable) return [];
  const [top = ''] = file.split('/');
  return readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => fileScope(root, `${top}/${name}`) ?? [])
    .filter(({ text }) => text.includes(find))
    .flatMap((scope) => foundIn(scope, find));
}

/**
 * Writes the bug and answers how to take it out again.
 *
 * @param stale true: what was built of the file is older than the bug; false: nobody notices that the file has changed
 */
export function plant(root: string, { path, before, after }: Planted, stale: boolean): () => void {
  const file = join(root, path);
  writeFileSync(file, after);
  // The clock of files is some milliseconds behind the one by which the built program has its time.
  const changedAt = stale ? new Date(Date.now() + 1_000) : 1;
  utimesSync(file, changedAt, changedAt);
  return () => {
    writeFileSync(file, before);
    utimesSync(file, 1, 1);
  };
}

function fileScope(root: string, path: string): Scope | undefined {
  try {
    const text = readFileSync(join(root, path), 'utf8');
    return { path, text, start: 0, end: text.length };
  } catch {
    return undefined;
  }
}

/** From the newest `create function` of that name to the end of its body. */
function functionScope(root: string, name: string): Scope | undefined {
  const head = new RegExp(
    `create (?:or replace )?function ${name.slice(0, -1).replaceAll(/[.(]/g, '\\$&')}`,
    'g',
  );
  for (const folder of readdirSync(join(root, migrations)).toSorted().toReversed()) {
    const path = `${migrations}/${folder}/migration.sql`;
    const text = readFileSync(join(root, path), 'utf8');
    const start = [...text.matchAll(head)].at(-1)?.index;
    if (start === undefined) continue;
    const body = /\bas (\$\w*\$)/g;
    body.lastIndex = start;
    const tag = body.exec(text)?.[1] ?? '$$';
    return { path, text, start, end: text.indexOf(tag, body.lastIndex) };
  }
  return undefined;
}
