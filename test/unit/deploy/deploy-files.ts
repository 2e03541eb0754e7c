import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { projectRoot } from '../house/project-files.ts';

/** The path of a file of `deploy/`. */
export function deployPath(file: string): string {
  return join(projectRoot, 'deploy', file);
}

/** The text of a file of `deploy/`. */
export function deployText(file: string): string {
  return readFileSync(deployPath(file), 'utf8');
}

/** The YAML documents of a file of `deploy/`. A file that is not YAML throws. */
export function yamlOf(file: string): readonly unknown[] {
  return parseAllDocuments(deployText(file)).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS() as unknown;
  });
}
