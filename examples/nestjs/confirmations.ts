import { Injectable } from '@nestjs/common';
import { type InboxMessage, permanent } from 'temporal-outbox/consumer';
import { OnMessage } from 'temporal-outbox/nestjs';
import type { Tx } from './prisma.service.ts';
import { type BookingPayload, bookingCanceled, bookingMade } from './topics.ts';

/** Handles messages, each once: what it writes by `tx` commits together with the id of the message. */
@Injectable()
export class Confirmations {
  @OnMessage(bookingMade)
  async confirm(tx: Tx, { payload: { bookingId, seat } }: InboxMessage<BookingPayload>): Promise<void> {
    await tx.confirmation.create({ data: { bookingId, seat } });
  }

  @OnMessage(bookingCanceled)
  async withdraw(tx: Tx, { payload: { bookingId } }: InboxMessage<BookingPayload>): Promise<void> {
    const { count } = await tx.confirmation.deleteMany({ where: { bookingId } });
    // The key keeps the order, so waiting for the confirmation helps nobody: the message is kept for a person.
    if (count === 0) throw permanent(new Error(`Booking ${bookingId} was never confirmed.`));
  }
}
