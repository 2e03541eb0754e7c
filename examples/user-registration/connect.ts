import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';

export const connect = (): PrismaClient =>
  new PrismaClient({ adapter: new PrismaPg(process.env['DATABASE_URL'] ?? '') });
