import { PrismaPg } from '@prisma/adapter-pg';
import { shopUrl } from '../databases.ts';
import { PrismaClient } from './generated/client.ts';

export const connect = (): PrismaClient => new PrismaClient({ adapter: new PrismaPg(shopUrl()) });
