import { Controller } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { permanent } from 'temporal-outbox/consumer';
import { OutboxContext } from './outbox.strategy.ts';
import { type BookingPayload, bookingCanceled, bookingMade } from './topics.ts';

/** Handles messages, each once: what it writes by `tx` commits together with the id of the message. */
@Controller()
export class ConfirmationsController {
  @EventPattern<string>(bookingMade.name)
  async confirm(@Payload() { bookingId, seat }: BookingPayload, @Ctx() { tx }: OutboxContext): Promise<void> {
    await tx.confirmation.create({ data: { bookingId, seat } });
  }

  @EventPattern<string>(bookingCanceled.name)
  async withdraw(@Payload() { bookingId }: BookingPayload, @Ctx() { tx }: OutboxContext): Promise<void> {
    const { count } = await tx.confirmation.deleteMany({ where: { bookingId } });
    // The key keeps the order, so waiting for the confirmation helps nobody: the message is kept for a person.
    if (count === 0) throw permanent(new Error(`Booking ${bookingId} was never confirmed.`));
  }
}
