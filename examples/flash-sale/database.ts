import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';

export const connect = () =>
  new PrismaClient({
    adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] ?? '', max: 15 }),
  });
