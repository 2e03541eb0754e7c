import { PrismaPg } from '@prisma/adapter-pg';
import { inventoryUrl } from '../databases.ts';
import { PrismaClient } from './generated/client.ts';

export const connect = (): PrismaClient => new PrismaClient({ adapter: new PrismaPg(inventoryUrl()) });
