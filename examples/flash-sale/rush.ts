import { buy, connectRedis, type Redis, type Sale } from './sale.ts';

const [users, connections, atOnce] = [4_000, 8, 250];

/** All users ask five times each, at once, over eight connections. Counts the answers. */
export async function rush(sale: Sale) {
  const requests = Array.from({ length: users * 5 }, (_, number) => `user-${Math.floor(number / 5)}`);
  const clients = await Promise.all(Array.from({ length: connections }, connectRedis));
  const answers = { sold: 0, 'already bought': 0, 'sold out': 0 };
  const ask = async (redis: Redis, user: string) => {
    const answer = await buy(redis, sale, user);
    answers[answer.refused ?? 'sold'] += 1;
  };
  const beganAt = performance.now();
  await Promise.all(
    clients.map(async (redis, client) => {
      const own = requests.filter((_, number) => number % connections === client);
      for (let at = 0; at < own.length; at += atOnce)
        await Promise.all(own.slice(at, at + atOnce).map((user) => ask(redis, user)));
    }),
  );
  const perSecond = Math.round((requests.length * 1000) / (performance.now() - beganAt));
  for (const redis of clients) redis.destroy();
  return { ...answers, requests: requests.length, perSecond, beganAt };
}
