import { Injectable } from '@nestjs/common';
import { type InboxMessage, permanent } from 'temporal-outbox/consumer';
import { OnMessage } from 'temporal-outbox/nestjs';
import type { Tx } from './prisma.service.ts';
import { type BookingChange, bookingChanged } from './topics.ts';

/** Handles messages, each once: what it writes by `tx` commits together with the id of the message. */
@Injectable()
export class Confirmations {
  @OnMessage(bookingChanged)
  async follow(tx: Tx, { payload }: InboxMessage<BookingChange>): Promise<void> {
    const { bookingId, change, seat } = payload;
    if (change === 'made') await tx.confirmation.create({ data: { bookingId, seat } });
    else await this.#withdraw(tx, bookingId);
  }

  async #withdraw(tx: Tx, bookingId: string): Promise<void> {
    const { count } = await tx.confirmation.deleteMany({ where: { bookingId } });
    // The key keeps the order, so waiting for the confirmation helps nobody: the message is kept for a person.
    if (count === 0) throw permanent(new Error(`Booking ${bookingId} was never confirmed.`));
  }
}
