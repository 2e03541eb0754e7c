import { send, transaction } from 'temporal-outbox';
import type { PrismaClient } from './generated/client.ts';
import { userRegistered } from './topics.ts';

/** Stores the user and the message together. Where the address is taken already, neither is stored. */
export function register(prisma: PrismaClient, email: string): Promise<string> {
  return transaction(prisma, async (tx) => {
    const { id } = await tx.user.create({ data: { email } });
    await send(tx, userRegistered, { userId: id, email }, { key: id });
    return id;
  });
}
