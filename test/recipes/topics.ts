import { z } from 'zod';
import { topic } from '../../src/index.ts';

export const orderPlaced = topic('order-placed', z.object({ orderId: z.string() }));
export const orderTimeout = topic('order-timeout', z.object({ orderId: z.string() }));
