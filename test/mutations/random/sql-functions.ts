import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A function of the database: its body is the text between two indices. */
export interface SqlFunction {
  /** `outbox.claim` */
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const migrations = 'prisma/migrations';
const head = /create (?:or replace )?function (?<name>outbox\.\w+)\(.*?\bas (?<tag>\$\w*\$)/gs;

/** The newest definition of every function of the migrations. */
export function sqlFunctions(root: string): readonly SqlFunction[] {
  const newest = new Map<string, SqlFunction>();
  for (const folder of readdirSync(join(root, migrations)).toSorted()) {
    if (folder.includes('.')) continue;
    const path = `${migrations}/${folder}/migration.sql`;
    const text = readFileSync(join(root, path), 'utf8');
    for (const { 0: found, index, groups } of text.matchAll(head)) {
      const { name = '', tag = '$$' } = groups ?? {};
      const start = index + found.length;
      newest.set(name, { name, path, text, start, end: text.indexOf(tag, start) });
    }
  }
  return [...newest.values()];
}

/** The functions that call this one, at any depth, and itself. */
export function callersOf(functions: readonly SqlFunction[], name: string): ReadonlySet<string> {
  const found = new Set([name]);
  for (const callee of found) {
    const call = new RegExp(String.raw`\b${callee.replace('.', String.raw`\.`)}\(`);
    for (const one of functions) if (call.test(one.text.slice(one.start, one.end))) found.add(one.name);
  }
  return found;
}
