import type * as Kafkajs from 'kafkajs';
import { requirePackages } from '../../../core/packages.ts';

let loaded: typeof Kafkajs | undefined;

/**
 * kafkajs, loaded on first use: a service that only sends need not install it.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function kafkajs(): typeof Kafkajs {
  if (loaded === undefined) {
    requirePackages('kafka');
    // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- an import would load it with this file, or only later
    loaded = require('kafkajs') as typeof Kafkajs;
  }
  return loaded;
}
