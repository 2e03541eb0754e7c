import { PrismaPg } from '@prisma/adapter-pg';
import { createClient } from '@redis/client';
import { PrismaClient } from './generated/client.ts';

/** The three ways in which Redis passes messages on. */
export const kinds = ['channel', 'list', 'stream'] as const;
export type Kind = (typeof kinds)[number];

export const sides = ['by hand', 'here'] as const;
export type Side = (typeof sides)[number];

/** The key of a list or stream, or the name of a channel. */
export const addressOf = (side: Side, kind: Kind) =>
  side === 'here' ? `redis-compared:${kind}` : `redis-compared:by-hand:${kind}`;

/** Of those who are slow. */
export const slow = { channel: 'redis-compared:slow-channel', stream: 'redis-compared:slow-stream' };

export const connectRedis = () => createClient({ url: process.env['REDIS_URL'] ?? '' }).connect();

export const connect = () =>
  new PrismaClient({
    adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] ?? '', max: 15 }),
  });
