import assert from 'node:assert/strict';
import { connect as connectToBroker } from 'amqplib';
import { prepareBroker, removeFromBroker } from './broker.ts';
import { connect } from './connect.ts';
import { playStory } from './story.ts';
import { playStoryByHand } from './story-by-hand.ts';

const prisma = connect();
const broker = await connectToBroker(process.env['RABBITMQ_URL'] ?? '');
await prepareBroker(broker);

const here = await playStory(prisma);
await prisma.picking.deleteMany();
await prisma.order.deleteMany();
const byHand = await playStoryByHand(prisma, broker);

await removeFromBroker(broker);
await Promise.all([broker.close(), prisma.$disconnect()]);
// One repeat is that of the warehouse that died.
assert.deepEqual(here, { ghosts: 0, early: 0, lost: 0, repeats: 1 });
assert.deepEqual(byHand, { ghosts: 1, early: 1, lost: 0, repeats: 2 });
console.log(
  'reliable-rabbitmq: 3 orders stored once, 1 of them by a retry of a person;' +
    ` by hand: ${byHand.ghosts} without an order, ${byHand.early} before its order, ${byHand.repeats - 1} sent twice;` +
    ` here: ${here.ghosts}, ${here.early} and ${here.repeats - 1}`,
);
