import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A copy of the repository that may be broken, with the packages and the built program of the original. */
export interface Scratch {
  readonly root: string;
  /** Puts the built program of the original back, and has it look newer than its sources. */
  restoreBuilt(): void;
  remove(): void;
}

/** What is not in git but needed by tests, besides the built program. */
const made = ['dev/generated', 'src/api/generated'];

/** Folders of packages, by names, that a copy has instead of those of the original. */
export type Replaced = Readonly<Record<string, string>>;

/** Copies what is committed or about to be. The program must have been built, and counts as built from the copy. */
export function makeScratch(root: string, replaced: Replaced = {}): Scratch {
  const copy = mkdtempSync(join(tmpdir(), 'temporal-outbox-copy-'));
  const known = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = known.split('\n').filter((path) => path !== '' && existsSync(join(root, path)));
  for (const path of [...files, ...made]) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path), { recursive: true });
  }
  linkPackages(join(root, 'node_modules'), join(copy, 'node_modules'), replaced);
  const restoreBuilt = (): void => {
    rmSync(join(copy, 'dist'), { recursive: true, force: true });
    cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
    const builtAt = new Date();
    utimesSync(join(copy, 'dist/.built'), builtAt, builtAt);
  };
  restoreBuilt();
  return { root: copy, restoreBuilt, remove: () => rmSync(copy, { recursive: true, force: true }) };
}

/** A link for each package: what it needs itself it finds where it really is. */
export function linkPackages(original: string, copy: string, replaced: Replaced): void {
  const names = readdirSync(original).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(original, name)).map((part) => join(name, part)) : [name],
  );
  for (const name of new Set([...names, ...Object.keys(replaced)])) {
    mkdirSync(dirname(join(copy, name)), { recursive: true });
    symlinkSync(replaced[name] ?? join(original, name), join(copy, name));
  }
}

/** Which commit is checked out; the empty text where there is no repository. */
export function headOf(root: string): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}
