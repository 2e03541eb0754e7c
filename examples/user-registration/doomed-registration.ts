import { HandWrittenSender } from './by-hand.ts';
import { connect } from './connect.ts';
import { storeUser } from './register.ts';

// A process of its own, for the story: it stores a user, and dies as by `kill -9` between its commit and whatever it does next.
const [, , side, email = ''] = process.argv;
const die = async (): Promise<void> => void process.kill(process.pid, 'SIGKILL');
const prisma = connect();
if (side === 'by-hand') await new HandWrittenSender(prisma, { now: Date.now() }, die).register(email);
else {
  await prisma.$transaction((tx) => storeUser(tx, email));
  await die();
}
