import type * as Amqplib from 'amqplib';
import { requirePackages } from '../../../core/packages.ts';

let loaded: typeof Amqplib | undefined;

/**
 * The package amqplib, loaded on first use, because it is an optional dependency.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function amqplib(): typeof Amqplib {
  if (loaded === undefined) {
    requirePackages('rabbitmq');
    // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- a static import would load it eagerly, and import() asynchronously
    loaded = require('amqplib') as typeof Amqplib;
  }
  return loaded;
}
