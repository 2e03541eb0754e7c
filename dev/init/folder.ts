import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** What may be read of a folder. Paths are relative to it. */
export interface ReadFolder {
  /** Contents of a file; `undefined`: it cannot be read. */
  text(file: string): string | undefined;
  /** Names in a folder; empty: it is not there. */
  names(folder: string): readonly string[];
}

/** A folder on disk. */
export function folderAt(folder: string): ReadFolder {
  return {
    text: (file) => orElse(() => readFileSync(path.resolve(folder, file), 'utf8'), undefined),
    names: (below) => orElse(() => readdirSync(path.resolve(folder, below)), []),
  };
}

/** A project may lack any of these files. */
function orElse<T>(read: () => T, missing: T): T {
  try {
    return read();
  } catch {
    return missing;
  }
}
