import { connect } from './database.ts';
import { ownFault } from './faults.ts';
import { connectRedis, saleOf } from './sale.ts';

// The way that many tutorials show: one consumer of the group, a lock per user, and a look at the pending list after an error.

interface Entry {
  readonly id: string;
  readonly message: Readonly<Record<string, string>>;
}

const sale = saleOf('by-hand');
const [group, name] = ['g1', 'c1'];
const lockSeconds = 20 * 60;
const redis = await connectRedis();
const prisma = connect();
const fault = ownFault();
let handled = 0;

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
  for (let entry = await read('0'); entry !== undefined; entry = await read('0')) {
    await handle(entry);
    await redis.xAck(sale.orders, group, entry.id);
  }
}

async function handle({ message }: Entry): Promise<void> {
  const { orderId = '', userId = '', voucherId = '' } = message;
  handled += 1;
  const lock = `flash-sale:lock:order:${userId}`;
  // "One order per user": whoever finds the lock taken returns, and the entry counts as done.
  if ((await redis.set(lock, name, { condition: 'NX', EX: lockSeconds })) === null) return;
  try {
    await createOrder(orderId, userId, voucherId);
  } finally {
    await redis.del(lock);
  }
  befall('killed after the commit');
}

async function createOrder(orderId: string, userId: string, voucherId: string): Promise<void> {
  await prisma.$transaction(async (tx) => {
    if ((await tx.order.count({ where: { userId, voucherId } })) > 0) return;
    const { count } = await tx.voucher.updateMany({
      where: { id: voucherId, stock: { gt: 0 } },
      data: { stock: { decrement: 1 } },
    });
    if (count === 0) return;
    await tx.order.create({ data: { id: orderId, userId, voucherId } });
    befall('killed before the commit');
    befall('error');
  });
}

function befall(where: typeof fault.where): void {
  if (fault.where !== where || handled !== fault.order) return;
  if (where === 'error') throw new Error('The database does not answer.');
  process.kill(process.pid, 'SIGKILL');
}
