import type * as Amqplib from 'amqplib';
import { optionalPackage } from '../../../core/packages.ts';

/** The package amqplib. @throws OutboxError `OUTBOX_PACKAGE_MISSING` */
export const amqplib = optionalPackage<typeof Amqplib>('rabbitmq', 'amqplib');
