import { topic } from 'temporal-outbox';
import { z } from 'zod';

/** The sender wants a receipt of the ledger. Real receipts take minutes: `receiptTimeout: ['10 minutes', '1 hour']`. */
export const paymentMade = topic(
  'payment-confirmed',
  z.object({ paymentId: z.uuid(), cents: z.int().positive() }),
  { confirm: { group: 'payment-confirmed', receiptTimeout: '1 second', maxSends: 3 } },
);

/** For a person: a message that has failed, and why. */
export const personTold = topic('person-told', z.object({ failedId: z.uuid(), error: z.string() }));
