import type * as Undici from 'undici';
import { loadOptional, requirePackages } from '../../../core/packages.ts';

let loaded: typeof Undici | undefined;

/**
 * The package undici, loaded on first use.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function undici(): typeof Undici {
  if (loaded === undefined) {
    requirePackages('http');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a package exports is known only by its name
    loaded = loadOptional('undici') as typeof Undici;
  }
  return loaded;
}
