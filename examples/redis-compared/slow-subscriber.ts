// A subscriber that stands still with its first message in hand, as one does that has too much to do.
import { started } from './faults.ts';
import { connectRedis, slow } from './kinds.ts';

const received: number[] = [];
const redis = await connectRedis();
redis.on('error', () => {}); // it connects and subscribes again by itself, and nothing tells it what it has missed
await redis.subscribe(slow.channel, (text) => {
  if (text === 'end') process.send?.(received);
  else received.push(Number.parseInt(text, 10));
  if (received.length === 1) process.kill(process.pid, 'SIGSTOP');
});
started();
