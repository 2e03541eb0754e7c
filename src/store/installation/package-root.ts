import { existsSync } from 'node:fs';
import path from 'node:path';

/** The folder of this package, the same for the sources and for the build. */
export function packageRoot(): string {
  let folder = __dirname;
  while (!existsSync(path.join(folder, 'prisma', 'migrations'))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error('The package lacks its folder prisma/migrations.');
    folder = parent;
  }
  return folder;
}
