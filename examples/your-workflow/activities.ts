import { once } from 'temporal-outbox/consumer';
import type { PrismaClient } from './generated/client.ts';

export type Activities = ReturnType<typeof activitiesOf>;

/** An activity may run again after its commit, if the worker dies before Temporal knows. `once` makes that harmless. */
export const activitiesOf = (prisma: PrismaClient) => ({
  ship: async (orderId: string): Promise<void> => {
    await prisma.$transaction((tx) =>
      once(tx, 'fulfilment', orderId, () => tx.shipment.create({ data: { orderId } })),
    );
  },
});
