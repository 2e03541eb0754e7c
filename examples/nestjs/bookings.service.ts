import { ConflictException, Inject, Injectable, NotFoundException } from '@nestjs/common';
import { send, transaction, wake } from 'temporal-outbox';
import { Prisma } from './generated/client.ts';
import { PrismaService, type Tx } from './prisma.service.ts';
import { bookingChanged } from './topics.ts';

@Injectable()
export class BookingsService {
  readonly #prisma: PrismaService;

  // The token is explicit because tsx writes no metadata of decorators; with `nest build` the type is enough.
  constructor(@Inject(PrismaService) prisma: PrismaService) {
    this.#prisma = prisma;
  }

  /** `transaction` opens the transaction, and wakes the relay after the commit. */
  async book(seat: string): Promise<string> {
    try {
      return await transaction(this.#prisma, (tx) => this.bookIn(tx, seat));
    } catch (error) {
      if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
        throw new ConflictException(`Seat ${seat} is taken.`);
      throw error;
    }
  }

  /** For callers that are in a transaction already, and for tests that roll theirs back. */
  async bookIn(tx: Tx, seat: string): Promise<string> {
    const { id } = await tx.booking.create({ data: { seat } });
    await send(tx, bookingChanged, { bookingId: id, seat, change: 'made' }, { key: id });
    return id;
  }

  /** Where something else opens the transaction, here Prisma itself, `wake` follows the commit. */
  async cancel(id: string): Promise<void> {
    await this.#prisma.$transaction(async (tx) => {
      const [booking] = await tx.booking.findMany({ where: { id } });
      if (booking === undefined) throw new NotFoundException();
      await tx.booking.delete({ where: { id } });
      // The same topic and key as before: this message arrives after that of the booking.
      await send(tx, bookingChanged, { bookingId: id, seat: booking.seat, change: 'canceled' }, { key: id });
    });
    wake(this.#prisma);
  }
}
