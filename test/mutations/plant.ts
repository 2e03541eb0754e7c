import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** The bug as text, or why the entry no longer fits the sources. */
export function graft(root: string, { file, find, replace }: Mutation): Planted | string {
  const scope = file.startsWith('outbox.') ? functionScope(root, file) : fileScope(root, file);
  if (scope === undefined) return `${file} does not exist`;
  const count = scope.text.slice(scope.start, scope.end).split(find).length - 1;
  if (count !== 1) return `its text occurs ${count} times in ${file}`;
  const at = scope.text.indexOf(find, scope.start);
  const after = scope.text.slice(0, at) + replace + scope.text.slice(at + find.length);
  return { path: scope.path, before: scope.text, after };
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
