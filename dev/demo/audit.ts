import type { Figures } from './figures.ts';
import { judgeLog, type LogVerdict } from './judge-log.ts';
import { judgePromises } from './judge-promises.ts';
import { judgeShop } from './judge-shop.ts';
import { allHandled } from './rush.ts';
import type { Scene } from './scene.ts';
import { recordPosition } from './shop-consumer.ts';
import { products } from './shop-database.ts';
import { orderEvents, orderTimeout } from './shop-topics.ts';

/** Whether the planned faults happened. */
export interface Faults {
  readonly killedMidWay: boolean;
  readonly brokerWasDown: boolean;
}

export interface Audit {
  readonly figures: Figures;
  /** The problems found, as sentences. */
  readonly problems: readonly string[];
}

/** Rereads everything from the database and from Kafka, and compares. */
export async function audit(scene: Scene, faults: Faults): Promise<Audit> {
  const { reader, log, signal } = scene;
  await allHandled(scene);
  const messages = await settled(scene);
  const records = await log.read([orderEvents.rules.address, orderTimeout.rules.address], signal);
  const verdict = judgeLog(messages, records);
  const surplus = new Set(
    verdict.duplicates.map(({ topic, partition, offset }) =>
      recordPosition(topic, partition, String(offset)),
    ),
  );
  const missed = await droppedAll(scene, surplus);
  const attemptsBurned = await reader.outboxAttempt.count({ where: { outcome: { not: 'acknowledged' } } });
  const books = await readBooks(scene);
  const problems = [
    ...faultProblems(faults),
    ...logProblems(verdict),
    ...(attemptsBurned > 0 ? [`${attemptsBurned} attempts were burned.`] : []),
    ...missed,
    ...judgeShop(books),
    ...(await judgePromises(scene)),
  ];
  const figures: Figures = {
    ok: problems.length === 0,
    committed: messages.length,
    published: verdict.published,
    effects: books.effects.length,
    paid: books.orders.filter(({ status }) => status === 'PAID').length,
    canceled: books.orders.filter(({ status }) => status === 'CANCELED').length,
    relayKills: Number(faults.killedMidWay),
    brokerStops: Number(faults.brokerWasDown),
    attemptsBurned,
    duplicatesDropped: [...surplus].filter((position) => scene.inbox.dropped.has(position)).length,
    lost: verdict.lost.length,
    ghosts: verdict.ghosts.length,
    early: verdict.early.length,
    outOfOrder: verdict.outOfOrder.length,
  };
  return { figures, problems };
}

/** All messages, once none is in progress. */
function settled({ reader, until }: Scene) {
  return until('every message is published or canceled', async () => {
    const messages = await reader.outboxMessageView.findMany({
      select: { id: true, topic: true, position: true, state: true, dueAt: true },
    });
    return messages.every(({ state }) => state === 'published' || state === 'canceled') && messages;
  });
}

/** The records that the inbox dropped must be exactly the duplicates in Kafka's log. */
async function droppedAll({ inbox, until }: Scene, surplus: ReadonlySet<string>): Promise<readonly string[]> {
  await until(`the inbox has come past all ${surplus.size} duplicates`, () =>
    [...surplus].every((position) => inbox.dropped.has(position) || inbox.handled.has(position)),
  );
  const kept = [...surplus].filter((position) => !inbox.dropped.has(position));
  const strange = [...inbox.dropped].filter((position) => !surplus.has(position));
  return [
    ...kept.map((position) => `The inbox handled a duplicate: ${position}.`),
    ...strange.map((position) => `The inbox dropped the first record of a message: ${position}.`),
  ];
}

async function readBooks({ prisma }: Scene) {
  const initial = new Map<string, number>(products.map(({ id, stock }) => [id, stock]));
  const shelves = await prisma.product.findMany();
  return {
    orders: await prisma.order.findMany(),
    effects: await prisma.effect.findMany(),
    products: shelves.map(({ id, stock }) => ({ id, stock, initial: initial.get(id) ?? 0 })),
  };
}

function faultProblems({ killedMidWay, brokerWasDown }: Faults): readonly string[] {
  return [
    ...(killedMidWay
      ? []
      : ['The relay was not killed in mid-work, so the demo has shown nothing about it.']),
    ...(brokerWasDown
      ? []
      : ['No message waited while Kafka was down, so the demo has shown nothing about it.']),
  ];
}

function logProblems({ lost, ghosts, early, outOfOrder }: LogVerdict): readonly string[] {
  return [
    ...lost.map(({ topic, id }) => `Lost: ${topic} ${id}.`),
    ...ghosts.map(({ topic, id }) => `Should not be in Kafka: ${topic} ${id}.`),
    ...early.map(({ topic, id, at }) => `Too early: ${topic} ${id} at ${at.toISOString()}.`),
    ...outOfOrder.map(({ topic, key, id }) => `Out of order: ${topic} ${id} of the key ${key}.`),
  ];
}
