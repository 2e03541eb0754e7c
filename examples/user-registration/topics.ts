import { topic } from 'temporal-outbox';
import { z } from 'zod';

export const userRegistered = topic('user-registered', z.object({ userId: z.uuid(), email: z.email() }));
