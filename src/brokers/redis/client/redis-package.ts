import type * as Redis from '@redis/client';
import { requirePackages } from '../../../core/packages.ts';

/**
 * The package `@redis/client`, loaded when it is first needed.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function redisClient(): typeof Redis {
  requirePackages('redis');
  // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- a static import would load it eagerly, and import() asynchronously
  return require('@redis/client') as typeof Redis;
}
