import type { ReadFolder } from './folder.ts';

/** A program that installs packages. */
export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

interface ManagerCommands {
  readonly locks: readonly string[];
  /** Runs a script of package.json. */
  readonly run: string;
  readonly add: string;
  readonly addForDevelopment: string;
}

/** Lock files and commands. Where several lock files lie side by side, the first of this list is the one in use. */
export const managers: Readonly<Record<PackageManager, ManagerCommands>> = {
  pnpm: {
    locks: ['pnpm-lock.yaml'],
    run: 'pnpm run',
    add: 'pnpm add',
    addForDevelopment: 'pnpm add --save-dev',
  },
  yarn: {
    locks: ['yarn.lock'],
    run: 'yarn run',
    add: 'yarn add',
    addForDevelopment: 'yarn add --dev',
  },
  bun: {
    locks: ['bun.lock', 'bun.lockb'],
    run: 'bun run',
    add: 'bun add',
    addForDevelopment: 'bun add --dev',
  },
  npm: {
    locks: ['package-lock.json', 'npm-shrinkwrap.json'],
    run: 'npm run',
    add: 'npm install',
    addForDevelopment: 'npm install --save-dev',
  },
};
const names: readonly PackageManager[] = ['pnpm', 'yarn', 'bun', 'npm'];

/** A package of a workspace has its lock file some folders above. */
const parents = ['', '../', '../../', '../../../'];

/** The manager that the field `packageManager` names, else that of the nearest lock file, else npm. */
export function packageManagerOf(folder: ReadFolder, field: unknown): PackageManager {
  const named = names.find((name) => typeof field === 'string' && field.startsWith(`${name}@`));
  if (named !== undefined) return named;
  for (const parent of parents) {
    const here = new Set(folder.names(parent === '' ? '.' : parent));
    const locked = names.find((name) => managers[name].locks.some((lock) => here.has(lock)));
    if (locked !== undefined) return locked;
  }
  return 'npm';
}
