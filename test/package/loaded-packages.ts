import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.resolve(import.meta.dirname, '../..');

/** Runs in a process of its own: loads a module, and finds who loaded a package of the given names first. */
const search = `
const [, entry, wanted] = process.argv;
require(entry);
const isWanted = (file) => wanted.split(' ').some((name) => file.includes('/node_modules/' + name + '/'));
const seen = new Set();
const chains = [];
(function walk(module, chain) {
  if (seen.has(module.id)) return;
  seen.add(module.id);
  const longer = [...chain, module.filename];
  if (isWanted(module.filename)) chains.push(longer);
  else for (const child of module.children) walk(child, longer);
})(require.cache[require.resolve(entry)], []);
process.stdout.write(JSON.stringify(chains));
`;

/** How the built module comes to load any of the packages: a chain of files for each, from the module on. */
export async function chainsTo(packages: readonly string[], file: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '-e',
    search,
    path.join(root, file),
    packages.join(' '),
  ]);
  return (JSON.parse(stdout) as string[][]).map((chain) => inWords(chain));
}

/** The same of declarations: what TypeScript has to find where the module is imported. */
export function typeChainsTo(packages: readonly string[], file: string): readonly string[] {
  const seen = new Set<string>();
  const walk = (at: string, chain: readonly string[]): readonly string[] => {
    if (seen.has(at)) return [];
    seen.add(at);
    const longer = [...chain, at];
    return specifiersOf(at).flatMap((to) => {
      if (to.startsWith('.')) return walk(declarationsOf(path.resolve(path.dirname(at), to)), longer);
      return packages.some((name) => to === name || to.startsWith(`${name}/`))
        ? [inWords([...longer, to])]
        : [];
    });
  };
  return walk(path.join(root, file), []);
}

function specifiersOf(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*['"](?<to>[^'"]+)['"]/g)].map(
    ({ groups }) => groups?.['to'] ?? '',
  );
}

function declarationsOf(imported: string): string {
  const file = imported.replace(/\.[jt]s$/, '.d.ts');
  if (!existsSync(file)) throw new Error(`${file} is declared nowhere.`);
  return file;
}

function inWords(chain: readonly string[]): string {
  return chain.map((file) => path.relative(root, file).replace(/^\.\..*$/, file)).join(' -> ');
}
