import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineOf, type Mutant } from './mutant.ts';
import { sqlFunctions } from './sql-functions.ts';
import { sqlChanges } from './sql-operators.ts';
import { typescriptMutants } from './typescript-places.ts';

/**
 * Every bug that the rules make in the folders.
 *
 * @param folders paths or patterns of git, `src/relay` or `src/store/lane/*.ts`; `outbox.` and the beginning of a name means
 * functions of the database
 */
export function mutantsIn(root: string, folders: readonly string[]): readonly Mutant[] {
  const named = folders.filter((folder) => folder.startsWith('outbox.'));
  const paths = folders.filter((folder) => !folder.startsWith('outbox.'));
  return [
    ...(paths.length === 0 ? [] : sourcesIn(root, paths)).flatMap((path) =>
      typescriptMutants(path, readFileSync(join(root, path), 'utf8')),
    ),
    ...(named.length === 0 ? [] : sqlFunctions(root))
      .filter(({ name }) => named.some((beginning) => name.startsWith(beginning)))
      .flatMap(({ name, path, text, start, end }) =>
        sqlChanges(text.slice(start, end)).map((change) => {
          const line = lineOf(text, start + change.start);
          const place = { start: start + change.start, end: start + change.end };
          return { ...change, ...place, path, sqlFunction: name, line, statement: line, inFunction: true };
        }),
      ),
  ];
}

function sourcesIn(root: string, paths: readonly string[]): readonly string[] {
  return execFileSync('git', ['ls-files', '--', ...paths], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
}
