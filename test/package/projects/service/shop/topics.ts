import { topic } from 'temporal-outbox';
import { z } from 'zod';

const suffix = process.env['TOPICS_SUFFIX'] ?? '';

export const orderPlaced = topic(`order-placed${suffix}`, z.object({ orderId: z.string() }));
export const orderTimeout = topic(`order-timeout${suffix}`, z.object({ orderId: z.string() }));
