import { Controller, Delete, Inject, Param, Post } from '@nestjs/common';
import { BookingsService } from './bookings.service.ts';

/** Answers requests. */
@Controller('bookings')
export class BookingsController {
  readonly #bookings: BookingsService;

  constructor(@Inject(BookingsService) bookings: BookingsService) {
    this.#bookings = bookings;
  }

  @Post(':seat')
  async book(@Param('seat') seat: string): Promise<{ id: string }> {
    return { id: await this.#bookings.book(seat) };
  }

  @Delete(':id')
  cancel(@Param('id') id: string): Promise<void> {
    return this.#bookings.cancel(id);
  }
}
