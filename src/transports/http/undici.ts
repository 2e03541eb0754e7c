import type * as Undici from 'undici';
import { requirePackages } from '../../core/packages.ts';

let loaded: typeof Undici | undefined;

/**
 * undici, loaded when it is first needed.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function undici(): typeof Undici {
  if (loaded === undefined) {
    requirePackages('http');
    // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- an import would load it with this file, or only later
    loaded = require('undici') as typeof Undici;
  }
  return loaded;
}
