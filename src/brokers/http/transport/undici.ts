import type * as Undici from 'undici';
import { optionalPackage } from '../../../core/packages.ts';

/** The package undici. @throws OutboxError `OUTBOX_PACKAGE_MISSING` */
export const undici = optionalPackage<typeof Undici>('http', 'undici');
