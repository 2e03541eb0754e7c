import { type INestApplication, Module } from '@nestjs/common';
import type { ConsumerOptions } from 'temporal-outbox/consumer';
import { BookingsController } from './bookings.controller.ts';
import { BookingsService } from './bookings.service.ts';
import { ConfirmationsController } from './confirmations.controller.ts';
import { OutboxStrategy, PassErrors } from './outbox.strategy.ts';
import { PrismaService } from './prisma.service.ts';

@Module({
  controllers: [BookingsController, ConfirmationsController],
  providers: [BookingsService, PrismaService],
})
export class AppModule {}

/** Makes a hybrid of the application: the same module answers requests and handles messages. */
export async function startConsumer(
  app: INestApplication,
  options: Pick<ConsumerOptions, 'config' | 'report'>,
): Promise<void> {
  const strategy = new OutboxStrategy(app.get(PrismaService), { ...options, group: 'bookings' });
  app.connectMicroservice({ strategy }, { deferInitialization: true }).useGlobalFilters(new PassErrors());
  await app.startAllMicroservices();
}
