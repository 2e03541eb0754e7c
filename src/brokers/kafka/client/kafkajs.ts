import type * as Kafkajs from 'kafkajs';
import { loadOptional, requirePackages } from '../../../core/packages.ts';

let loaded: typeof Kafkajs | undefined;

/**
 * kafkajs, loaded on first use: a service that only sends need not install it.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function kafkajs(): typeof Kafkajs {
  if (loaded === undefined) {
    requirePackages('kafka');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a package exports is known only by its name
    loaded = loadOptional('kafkajs') as typeof Kafkajs;
  }
  return loaded;
}
