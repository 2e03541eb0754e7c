import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import { startRelay } from 'temporal-outbox/relay';
import { PrismaClient } from './generated/client.ts';
import config from './outbox.config.ts';
import { register } from './register.ts';
import { welcomeUsers } from './welcome.ts';

const connect = () => new PrismaClient({ adapter: new PrismaPg(process.env['DATABASE_URL'] ?? '') });
const shop = connect();
const mailer = connect();
// Your own relay is a process of its own: `temporal-outbox relay`.
const relay = startRelay(config, { logger: false });
await relay.ready;
const welcome = await welcomeUsers(mailer);

const names = ['ada', 'grace', 'barbara'];
for (const name of names) await register(shop, `${name}@example.com`);
await assert.rejects(register(shop, 'ada@example.com'), { code: 'P2002' });

while ((await mailer.welcome.count()) < names.length) await delay(50);
await relay.stop();
await welcome.stop();
const users = await shop.user.findMany({ include: { welcome: true } });
assert.equal(users.length, names.length);
assert.ok(users.every((user) => user.welcome !== null));
await Promise.all([shop.$disconnect(), mailer.$disconnect()]);
console.log(`user-registration: ${users.length} registered and welcomed once, 1 rolled back and never told`);
