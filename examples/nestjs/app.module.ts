import { type DynamicModule, Module } from '@nestjs/common';
import type { ConsumerOptions } from 'temporal-outbox/consumer';
import { OutboxModule } from 'temporal-outbox/nestjs';
import { BookingsController } from './bookings.controller.ts';
import { BookingsService } from './bookings.service.ts';
import { Confirmations } from './confirmations.ts';
import { HealthController } from './health.controller.ts';
import { PrismaModule } from './prisma.module.ts';
import { PrismaService } from './prisma.service.ts';

/** Answers requests and handles messages. */
@Module({})
export class AppModule {
  /** With the configuration as an argument, so that a test can have another broker. */
  static with(options: Pick<ConsumerOptions, 'config' | 'report'>): DynamicModule {
    const outbox = OutboxModule.forRootAsync({
      imports: [PrismaModule],
      inject: [PrismaService],
      useFactory: (client: PrismaService) => ({ ...options, client, group: 'bookings' }),
      handlers: [Confirmations],
    });
    return {
      module: AppModule,
      imports: [PrismaModule, outbox],
      controllers: [BookingsController, HealthController],
      providers: [BookingsService],
    };
  }
}
