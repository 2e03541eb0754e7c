import type * as Kafkajs from 'kafkajs';
import { optionalPackage } from '../../../core/packages.ts';

/** kafkajs: a service that only sends need not install it. @throws OutboxError `OUTBOX_PACKAGE_MISSING` */
export const kafkajs = optionalPackage<typeof Kafkajs>('kafka', 'kafkajs');
