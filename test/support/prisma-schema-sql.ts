import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { packageRoot } from '../../src/store/package-root.ts';
import { withEngine } from './prisma-engine.ts';

/**
 * The SQL that Prisma would run to make the tables of the models in a file of the folder `prisma`.
 *
 * Views are written as tables of the same columns, because Prisma makes no views.
 *
 * @param url a database of the server that the SQL is for; nothing is written to it
 */
export async function prismaSchemaSql(url: string, name: string): Promise<string> {
  const models = await readFile(path.join(packageRoot(), 'prisma', name), 'utf8');
  const files = [{ path: name, content: models.replaceAll(/^view /gm, 'model ') }];
  const { stdout } = await withEngine(url, files, (engine) =>
    engine.diff({
      exitCode: null,
      filters: { externalEnums: [], externalTables: [] },
      from: { tag: 'empty' },
      script: true,
      to: { tag: 'schemaDatamodel', files },
    }),
  );
  return stdout ?? '';
}
