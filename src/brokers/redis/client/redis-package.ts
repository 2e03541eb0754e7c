import type * as Redis from '@redis/client';
import { optionalPackage } from '../../../core/packages.ts';

/** The package `@redis/client`. @throws OutboxError `OUTBOX_PACKAGE_MISSING` */
export const redisClient = optionalPackage<typeof Redis>('redis', '@redis/client');
