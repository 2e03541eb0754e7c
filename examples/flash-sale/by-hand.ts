import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from './database.ts';
import { ownFault } from './faults.ts';
import type { Prisma } from './generated/client.ts';
import { connectRedis, saleOf } from './sale.ts';

// The way that many tutorials show: one consumer of the group, a lock per user, and a look at the pending list after an error.

interface Entry {
  readonly id: string;
  readonly message: Readonly<Record<string, string>>;
}

const fault = ownFault();
const sale = saleOf(process.argv[3] ?? '');
const [group, name] = ['g1', 'c1'];
const redis = await connectRedis();
const prisma = connect();
let handled = 0;

// The lock of a library: it lasts for 30 s, and a watchdog prolongs it as long as its process lives. Nobody releases it.
const lockMs = 30_000;
const locked = new Set<string>();
setInterval(() => {
  for (const lock of locked) void redis.pExpire(lock, lockMs);
}, lockMs / 3).unref();

for (;;) {
  const entry = await read('>');
  if (entry === undefined) continue;
  try {
    await handle(entry);
    await redis.xAck(sale.orders, group, entry.id);
  } catch {
    await workOffPendingList();
  }
}

async function read(from: '>' | '0'): Promise<Entry | undefined> {
  const streams = { key: sale.orders, id: from };
  const read = await redis.xReadGroup(group, name, streams, { COUNT: 1, BLOCK: 1000 });
  const [stream] = (read ?? []) as unknown as { messages: Entry[] }[];
  return stream?.messages[0];
}

async function workOffPendingList(): Promise<void> {
  for (;;) {
    try {
      const entry = await read('0');
      if (entry === undefined) break;
      await handle(entry);
      await redis.xAck(sale.orders, group, entry.id);
    } catch {
      process.send?.('failed again');
      await delay(50);
    }
  }
  process.send?.('pending list is empty');
}

async function tryLock(lock: string): Promise<boolean> {
  if (locked.has(lock)) return true; // it is this process that holds it
  const options = { condition: 'NX', expiration: { type: 'PX', value: lockMs } } as const;
  if ((await redis.set(lock, process.pid, options)) === null) return false;
  locked.add(lock);
  return true;
}

async function handle({ message }: Entry): Promise<void> {
  const { orderId = '', userId = '', voucherId = '' } = message;
  handled += 1;
  // "One order per user": whoever finds the lock taken returns, and the entry counts as done.
  if (!(await tryLock(`flash-sale:lock:order:${userId}`))) return;
  await createOrder(orderId, userId, voucherId);
  await befall('killed after the commit');
}

async function createOrder(orderId: string, userId: string, voucherId: string): Promise<void> {
  const create = async (tx: Prisma.TransactionClient): Promise<void> => {
    await befall('error, after it was held up');
    if ((await tx.order.count({ where: { userId, voucherId } })) > 0) return;
    const { count } = await tx.voucher.updateMany({
      where: { id: voucherId, stock: { gt: 0 } },
      data: { stock: { decrement: 1 } },
    });
    if (count === 0) return; // logged, and acknowledged
    await tx.order.create({ data: { id: orderId, userId, voucherId } });
    await befall('killed before the commit');
    await befall('error');
  };
  await prisma.$transaction(create, { maxWait: 20_000, timeout: 60_000 });
}

async function befall(where: typeof fault.where): Promise<void> {
  if (fault.where !== where || handled !== fault.order) return;
  if (where.startsWith('killed')) process.kill(process.pid, 'SIGKILL');
  if (where === 'error, after it was held up') {
    process.send?.('held up');
    await once(process, 'message');
  }
  throw new Error('The database does not answer.');
}
