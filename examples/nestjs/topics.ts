import { topic } from 'temporal-outbox';
import { z } from 'zod';

const booking = z.object({ bookingId: z.uuid(), seat: z.string() });

/** What both messages carry. */
export type BookingPayload = z.infer<typeof booking>;

export const bookingMade = topic('booking-made', booking);
export const bookingCanceled = topic('booking-canceled', booking);
