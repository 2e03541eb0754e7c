import { topic } from 'temporal-outbox';
import { z } from 'zod';

/** The story cannot wait for the delays that topics have by default: 10, 30, 60, 120 and 300 seconds. */
export const userRegistered = topic('user-registered', z.object({ userId: z.uuid(), email: z.email() }), {
  retry: ['100ms', '100ms', '100ms', '100ms'],
});
