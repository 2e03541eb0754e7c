import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { type Prisma, PrismaClient } from './generated/client.ts';

/** The transaction that Prisma gives to your code, and the consumer to its handlers. */
export type Tx = Prisma.TransactionClient;

/** One pool for requests and for the consumer, which alone wants 15 connections. */
@Injectable()
export class PrismaService extends PrismaClient implements OnApplicationShutdown {
  constructor() {
    super({ adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] ?? '', max: 25 }) });
  }

  // After the consumer has stopped; in onModuleDestroy it would still be at work.
  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
  }
}
