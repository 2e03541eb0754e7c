import type * as Amqplib from 'amqplib';
import { loadOptional, requirePackages } from '../../../core/packages.ts';

let loaded: typeof Amqplib | undefined;

/**
 * The package amqplib, loaded on first use, because it is an optional dependency.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function amqplib(): typeof Amqplib {
  if (loaded === undefined) {
    requirePackages('rabbitmq');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a package exports is known only by its name
    loaded = loadOptional('amqplib') as typeof Amqplib;
  }
  return loaded;
}
