import assert from 'node:assert/strict';
import { send, transaction } from 'temporal-outbox';
import type { Operations } from 'temporal-outbox/operations';
import type { RunningRelay } from 'temporal-outbox/relay';
import type { PrismaClient } from './generated/client.ts';
import { placeOrder } from './orders.ts';
import { orderTimeout } from './topics.ts';
import type { TroubledBroker } from './troubled-broker.ts';
import { until } from './until.ts';

/** What the faults are played on. */
export interface Stage {
  readonly prisma: PrismaClient;
  readonly outbox: Operations;
  readonly broker: TroubledBroker;
  readonly start: () => RunningRelay;
  /** Waits until the workflow of an order's timeout sleeps. */
  readonly sleeps: (orderId: string) => Promise<void>;
}

/** The transaction commits after its message was due. Answers its order. */
export function commitLate({ prisma }: Stage): Promise<string> {
  return transaction(prisma, async (tx) => {
    const { id } = await tx.order.create({ data: { productId: 'lamp', status: 'CANCELED' } });
    const { dueAt } = await send(tx, orderTimeout, { orderId: id }, { after: '100 ms', ref: id });
    await until('it is due', () => Date.now() > Number(dueAt) + 100);
    return id;
  });
}

/** The broker refuses a message. Answers when it is tried again, in seconds; a person need not wait for it. */
export async function refuse({ prisma, outbox, broker }: Stage): Promise<number> {
  const refused = await transaction(prisma, async (tx) => {
    const { id } = await tx.order.create({ data: { productId: 'lamp', status: 'CANCELED' } });
    broker.refuseOnce(id);
    return (await send(tx, orderTimeout, { orderId: id })).id;
  });
  const stateIs = (state: string) => async () => (await outbox.show(refused))?.message?.state === state;
  await until('it is refused', stateIs('retrying'));
  const shown = await outbox.show(refused);
  const inMs = Number(shown?.message?.dueAt) - Number(shown?.attempts[0]?.at);
  await outbox.retry({ ids: [refused] }, { actor: 'story' });
  await until('it is sent', stateIs('published'));
  return Math.round(inMs / 1_000);
}

/** A timeout comes due while no relay runs. Answers its order, and the relay that runs then. */
export async function restart(stage: Stage, relays: RunningRelay[]): Promise<[string, RunningRelay]> {
  const id = await placeOrder(stage.prisma, 'lamp', '8 seconds');
  await stage.sleeps(id);
  await Promise.all(relays.map((relay) => relay.stop()));
  const { messages } = await stage.outbox.list({ topic: orderTimeout.name, ref: id });
  assert.equal(messages[0]?.state, 'waiting');
  const dueAt = Number(messages[0].dueAt);
  await until('it is due', () => Date.now() > dueAt + 100);
  const relay = stage.start();
  await relay.ready;
  return [id, relay];
}
