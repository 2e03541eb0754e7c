import assert from 'node:assert/strict';
import type { FastifyInstance } from 'fastify';
import { inventoryByHand, type Moment } from './by-hand.ts';
import { inventoryPort, mailerPort, shopPort } from './contract.ts';
import type { Stage } from './faults.ts';
import { connect as connectInventory } from './inventory/connect.ts';
import { inventoryService } from './inventory/service.ts';
import { mailbox } from './mailbox.ts';
import { startNetwork } from './network.ts';
import { connect as connectShop } from './shop/connect.ts';
import { mailer } from './shop/mailer.ts';
import { shopService } from './shop/service.ts';
import { playStory } from './story.ts';
import { playStoryByHand } from './story-by-hand.ts';

const shop = connectShop();
const inventory = connectInventory();

/** Plays with an inventory of its own behind a network of its own. */
async function withInventory<Result>(
  app: FastifyInstance,
  play: (stage: Stage) => Promise<Result>,
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
const office = await mailbox();
const mails = mailer(shop, office);
await mails.listen({ host: '127.0.0.1', port: mailerPort });
const here = await withInventory(inventoryService(inventory), (stage) => playStory(stage, office.mails));
const url = `http://127.0.0.1:${inventoryPort}/deduct`;
const moment: Moment = { stockRead: async () => {} };
const byHand = await withInventory(inventoryByHand(inventory, moment), (stage) =>
  playStoryByHand(stage, url, moment),
);
await Promise.all([
  answers.close(),
  mails.close(),
  office.close(),
  shop.$disconnect(),
  inventory.$disconnect(),
]);

const nothing = { servedWithoutStock: 0, takenButFailed: 0, givenUp: 0, doubled: 0, oversold: 0 };
assert.deepEqual(here, { ...nothing, postedAgain: 0, heldUp: 0 });
assert.equal(office.mails.length, 1);
const once = { servedWithoutStock: 1, takenButFailed: 1, givenUp: 1, oversold: 1, postedAgain: 1, heldUp: 1 };
assert.deepEqual(byHand, { ...once, doubled: 0 });
const inWords = ({ servedWithoutStock, takenButFailed, givenUp, oversold, heldUp }: typeof here) =>
  `${servedWithoutStock} done without stock, ${takenButFailed} deducted and failed, ${givenUp} given up in an outage, ` +
  `${oversold} piece oversold, ${heldUp} held up by one that hangs`;
console.log(
  `deduct-stock: 9 orders; by hand: ${inWords(byHand)}; here: ${inWords(here)}, ${office.mails.length} mail to a person`,
);
