import { topic } from 'temporal-outbox';
import { z } from 'zod';

const change = z.object({
  bookingId: z.uuid(),
  seat: z.string(),
  change: z.enum(['made', 'canceled']),
});

export type BookingChange = z.infer<typeof change>;

/** One topic for all that happens to a booking: the messages of a key keep their order within a topic, not across topics. */
export const bookingChanged = topic('booking-changed', change);
