import assert from 'node:assert/strict';
import type { FastifyInstance } from 'fastify';
import { inventoryByHand } from './by-hand.ts';
import { inventoryPort, shopPort } from './contract.ts';
import { connect as connectInventory } from './inventory/connect.ts';
import { inventoryService } from './inventory/service.ts';
import { startNetwork } from './network.ts';
import { connect as connectShop } from './shop/connect.ts';
import { shopService } from './shop/service.ts';
import { playStory } from './story.ts';
import { playStoryByHand } from './story-by-hand.ts';

const shop = connectShop();
const inventory = connectInventory();

/** Plays with an inventory of its own behind a network of its own. */
async function withInventory<Result>(
  app: FastifyInstance,
  play: (stage: Parameters<typeof playStory>[0]) => Promise<Result>,
): Promise<Result> {
  const network = await startNetwork(inventoryPort, await app.listen({ host: '127.0.0.1', port: 0 }));
  try {
    return await play({ shop, inventory, network });
  } finally {
    await network.cut();
    await app.close();
  }
}

const answers = shopService(shop);
await answers.listen({ host: '127.0.0.1', port: shopPort });
const here = await withInventory(inventoryService(inventory), playStory);
const url = `http://127.0.0.1:${inventoryPort}/deduct`;
const byHand = await withInventory(inventoryByHand(inventory), (stage) => playStoryByHand(stage, url));
await Promise.all([answers.close(), shop.$disconnect(), inventory.$disconnect()]);

assert.deepEqual(here, { servedWithoutStock: 0, takenButFailed: 0, givenUp: 0, doubled: 0 });
assert.deepEqual(byHand, { servedWithoutStock: 1, takenButFailed: 1, givenUp: 1, doubled: 0 });
console.log(
  'deduct-stock: 2 orders confirmed, 1 rejected, nothing deducted twice;' +
    ` by hand: ${byHand.servedWithoutStock} done without stock, ${byHand.takenButFailed} deducted and failed,` +
    ` ${byHand.givenUp} given up in an outage;` +
    ` here: ${here.servedWithoutStock}, ${here.takenButFailed} and ${here.givenUp}`,
);
