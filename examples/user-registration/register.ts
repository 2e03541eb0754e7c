import { send, transaction } from 'temporal-outbox';
import type { Prisma, PrismaClient } from './generated/client.ts';
import { userRegistered } from './topics.ts';

/** Stores the user and the message together. Where the address is taken already, neither is stored. */
export const register = (prisma: PrismaClient, email: string): Promise<string> =>
  transaction(prisma, (tx) => storeUser(tx, email));

/** What is done within the transaction. */
export async function storeUser(tx: Prisma.TransactionClient, email: string): Promise<string> {
  const { id } = await tx.user.create({ data: { email } });
  await send(tx, userRegistered, { userId: id, email }, { key: id });
  return id;
}
