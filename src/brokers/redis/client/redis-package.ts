import type * as Redis from '@redis/client';
import { loadOptional, requirePackages } from '../../../core/packages.ts';

/**
 * The package `@redis/client`, loaded when it is first needed.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function redisClient(): typeof Redis {
  requirePackages('redis');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a package exports is known only by its name
  return loadOptional('@redis/client') as typeof Redis;
}
