import type * as Amqplib from 'amqplib';
import { requirePackages } from '../core/packages.ts';

let loaded: typeof Amqplib | undefined;

/**
 * amqplib, loaded when it is first needed: who uses no RabbitMQ need not have it.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function amqplib(): typeof Amqplib {
  if (loaded === undefined) {
    requirePackages('rabbitmq');
    // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- an import would load it with this file, or only later
    loaded = require('amqplib') as typeof Amqplib;
  }
  return loaded;
}
