/** Deletes declarations from `dist` that no entry point of the package reaches: nobody can import them. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const { exports } = JSON.parse(readFileSync('package.json', 'utf8'));

/** Every `types` of the exports, whatever their conditions. */
function typesOf(entry) {
  if (typeof entry !== 'object' || entry === null) return [];
  return Object.entries(entry).flatMap(([key, value]) => (key === 'types' ? [join(value)] : typesOf(value)));
}

/** The relative imports of a declaration, as paths of declarations. */
function importsOf(path) {
  const specifiers = readFileSync(path, 'utf8').matchAll(/(?:from|import\()\s*["'](\.[^"']+)["']/g);
  return [...specifiers].map(([, to]) => join(dirname(path), to.replace(/\.(?:js|ts)$/, '.d.ts')));
}

const reached = new Set();
const open = typesOf(exports);
for (let path = open.pop(); path !== undefined; path = open.pop()) {
  if (reached.has(path)) continue;
  reached.add(path);
  open.push(...importsOf(path));
}

for (const folder of ['bin', 'dev', 'src', 'activities', 'workflows'])
  for (const file of readdirSync(join('dist', folder), { recursive: true, encoding: 'utf8' })) {
    const path = join('dist', folder, file);
    if (path.endsWith('.d.ts') && !reached.has(path)) rmSync(path);
  }
