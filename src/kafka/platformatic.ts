import type * as PlatformaticKafka from '@platformatic/kafka';
import { requirePackages } from '../core/packages.ts';

let loaded: typeof PlatformaticKafka | undefined;

/**
 * @platformatic/kafka, loaded on first use. Only its connections and its codec for requests are used: kafkajs has no public
 * way to send a batch that is already encoded, and encodes ten times slower.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function platformaticKafka(): typeof PlatformaticKafka {
  if (loaded === undefined) {
    requirePackages('kafka');
    // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- an import would load it with this file, or only later
    loaded = require('@platformatic/kafka') as typeof PlatformaticKafka;
  }
  return loaded;
}
