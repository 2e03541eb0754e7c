import assert from 'node:assert/strict';
import { connect as connectToBroker } from 'amqplib';
import { prepareBroker, removeFromBroker } from './broker.ts';
import { connect } from './connect.ts';
import { startNetwork } from './network.ts';
import { playStory } from './story.ts';
import { playStoryByHand } from './story-by-hand.ts';

const prisma = connect();
const brokerUrl = process.env['RABBITMQ_URL'] ?? '';
const broker = await connectToBroker(brokerUrl);
await prepareBroker(broker);
const network = await startNetwork(brokerUrl);
// What the configuration reads, here and in the processes that the story starts.
process.env['RABBITMQ_URL'] = network.url;

const here = await playStory(prisma, network, broker);
await prisma.picking.deleteMany();
await prisma.order.deleteMany();
const byHand = await playStoryByHand(prisma, network);

await removeFromBroker(broker);
await Promise.all([network.cut(), broker.close(), prisma.$disconnect()]);
const nothing = { ghosts: 0, early: 0, lost: 0, doubled: 0, refused: 0, copies: 0 };
assert.deepEqual(here, { ...nothing, mails: 1 });
assert.deepEqual(byHand, { ghosts: 1, early: 1, lost: 2, doubled: 2, refused: 1, copies: 3 });
const inWords = ({ ghosts, early, lost, doubled, refused, copies }: typeof byHand) =>
  `${lost} lost, ${doubled} picked twice, ${copies} copies sent, ${ghosts} without an order, ${early} before its order, ` +
  `${refused} refused in an outage`;
console.log(
  `reliable-rabbitmq: the same faults; by hand: ${inWords(byHand)}; here: ${inWords(here)}, ${here.mails} mail to a person`,
);
