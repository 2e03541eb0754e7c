/// <reference types="jest" />
import 'reflect-metadata';
import { Test, type TestingModule } from '@nestjs/testing';
import { sentIn } from 'temporal-outbox/testing';
import { BookingsService } from './bookings.service.ts';
import { PrismaService } from './prisma.service.ts';
import { bookingChanged } from './topics.ts';

// Neither a relay nor a broker runs here: a transaction that is rolled back tells what it has sent.
describe('BookingsService', () => {
  let testing: TestingModule;
  let bookings: BookingsService;
  let prisma: PrismaService;

  beforeAll(async () => {
    testing = await Test.createTestingModule({ providers: [BookingsService, PrismaService] }).compile();
    bookings = testing.get(BookingsService);
    prisma = testing.get(PrismaService);
  });
  afterAll(() => prisma.$disconnect());

  it('sends one message with each booking, keyed by it', async () => {
    const rollback = new Error('rolled back by the test');
    const work = prisma.$transaction(async (tx) => {
      const id = await bookings.bookIn(tx, 'spec-1');
      expect(await sentIn(tx)).toEqual([
        expect.objectContaining({
          topic: bookingChanged.name,
          key: id,
          payload: { bookingId: id, seat: 'spec-1', change: 'made' },
        }),
      ]);
      throw rollback;
    });

    await expect(work).rejects.toBe(rollback);
    expect(await prisma.booking.count({ where: { seat: 'spec-1' } })).toBe(0);
  });
});
