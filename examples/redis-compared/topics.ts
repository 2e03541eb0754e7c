import { topic } from 'temporal-outbox';
import { z } from 'zod';

const numbered = z.object({ number: z.int() });
const to = (kind: string) => ({ transport: kind, address: `redis-compared:${kind}` });

export const toList = topic('to-list', numbered, to('list'));
export const toStream = topic('to-stream', numbered, to('stream'));
export const toSlow = topic('to-slow', numbered, { transport: 'stream', address: 'redis-compared:slow' });

/** While nobody is subscribed, its messages wait: each second the first one is tried again. */
export const toChannel = topic('to-channel', numbered, {
  ...to('channel'),
  retry: () => '1 second',
  timer: 'lane',
});
