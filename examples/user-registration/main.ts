import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { env } from 'temporal-outbox';
import { operations } from 'temporal-outbox/operations';
import { type RelayEvent, startRelay } from 'temporal-outbox/relay';
import { kafka } from 'temporal-outbox/transports';
import { connect } from './connect.ts';
import { type Figures, flawsByHand } from './flaws.ts';
import config from './outbox.config.ts';
import { register } from './register.ts';
import { troubledBroker } from './troubled-broker.ts';
import { until } from './until.ts';
import { welcomeUsers } from './welcome.ts';

const shop = connect();
const mailer = connect();
const outbox = operations(config);
const broker = troubledBroker(kafka({ servers: env('KAFKA_BROKERS') }));
// Whoever is on duty is told of what has failed for good. Here the names are only kept.
const told: string[] = [];
const report = (event: RelayEvent): void => {
  if (event.type === 'failed') told.push(event.id);
};
// Two instances. Your own relay is a process of its own: `temporal-outbox relay`.
const relays = [1, 2].map(() =>
  startRelay({ ...config, transports: { kafka: broker.transport } }, { logger: false, report }),
);
await Promise.all(relays.map(({ ready }) => ready));
const welcome = await welcomeUsers(mailer);
const welcomed = async (email: string): Promise<boolean> =>
  (await mailer.welcome.count({ where: { user: { email } } })) === 1;

// Three users. A fourth has an address that is taken.
const emails = ['ada', 'grace', 'barbara'].map((name) => `${name}@example.com`);
for (const email of emails) await register(shop, email);
await assert.rejects(register(shop, 'ada@example.com'), { code: 'P2002' });

// A process dies between its commit and whatever it does next. The relays find the message.
const edsger = 'edsger@example.com';
const [, signal] = await once(fork('doomed-registration.ts', ['here', edsger]), 'exit');
assert.equal(signal, 'SIGKILL');
await until('the user of the dead process is welcomed', () => welcomed(edsger));

// The first try is refused. The broker is slow to acknowledge the second one, while both relays look for work.
const frances = 'frances@example.com';
broker.refuse(frances, 1);
broker.acknowledgeAfterMs = 1_000;
await register(shop, frances);
await until('the refused user is welcomed', () => welcomed(frances));
const about = (payloads: string[], email: string) => payloads.filter((one) => one.includes(email)).length;
assert.equal(about(broker.refused, frances), 1);
broker.acknowledgeAfterMs = 0;

// The broker refuses every try. The relay tells of it; a person sends it again when the broker is well.
const joan = 'joan@example.com';
broker.refuse(joan, 5);
await register(shop, joan);
await until('somebody is told', () => told.length > 0);
const { messages: failed } = await outbox.list({ topic: 'user-registered', states: ['failed'] });
assert.equal(failed[0]?.attempts, 5);
const untold = failed.filter(({ id }) => !told.includes(id)).length;
await outbox.retry({ ids: told }, { actor: 'grace', reason: 'The broker is well again.' });
await until('the last user is welcomed', () => welcomed(joan));

const users = await shop.user.findMany({ include: { welcome: true } });
await Promise.all(relays.map((relay) => relay.stop()));
await welcome.stop();
const here: Figures = {
  lost: users.filter((user) => user.welcome === null).length,
  copies: about(broker.stored, frances),
  untold,
};
const byHand = await flawsByHand(shop);
await Promise.all([outbox.close(), shop.$disconnect(), mailer.$disconnect()]);
assert.equal(users.length, emails.length + 3);
assert.equal(failed.length, 1);
assert.deepEqual(here, { lost: 0, copies: 1, untold: 0 });
assert.deepEqual(byHand, { lost: 1, copies: 2, untold: 1 });
console.log(
  `user-registration: ${users.length} registered and welcomed once, 1 rolled back and never told;` +
    ` by hand: ${byHand.lost} lost, 1 sent ${byHand.copies} times, ${byHand.untold} given up and nobody told;` +
    ` here: ${here.lost}, ${here.copies} time, ${here.untold}`,
);
