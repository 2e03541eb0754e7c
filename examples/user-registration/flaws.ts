import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type Broker, type Clock, HandWrittenSender } from './by-hand.ts';
import type { PrismaClient } from './generated/client.ts';
import { until } from './until.ts';

const minuteMs = 60_000;

/** What became of the same registrations under the same faults. */
export interface Figures {
  /** Users of whom nobody was ever told, because a process died. */
  readonly lost: number;
  /** How often one message was stored by the broker, with two instances running. */
  readonly copies: number;
  /** Messages that were given up after five refusals, and nobody was told. */
  readonly untold: number;
}

/** Runs the hand-written sender on a clock of its own. Its broker is an array, which loses nothing and repeats nothing. */
export async function flawsByHand(prisma: PrismaClient): Promise<Figures> {
  const figures = { lost: await lost(prisma), copies: await copies(prisma), untold: await untold(prisma) };
  await prisma.handMessage.deleteMany();
  return figures;
}

/** One process dies between its commit and the send; another one runs its job for an hour. */
async function lost(prisma: PrismaClient): Promise<number> {
  const email = 'edsger@by-hand.example';
  const [, signal] = await once(fork('doomed-registration.ts', ['by-hand', email]), 'exit');
  if (signal !== 'SIGKILL') throw new Error('The process did not die as planned.');
  await prisma.user.findUniqueOrThrow({ where: { email } });

  const clock = { now: Date.now() };
  const stored: string[] = [];
  const instance = new HandWrittenSender(prisma, clock, async (_, body) => void stored.push(body));
  await jobFor(60, [instance], clock);
  return stored.some((body) => body.includes(email)) ? 0 : 1;
}

/** The first try is refused. The broker is slow to acknowledge the second one, while both instances run their job. */
async function copies(prisma: PrismaClient): Promise<number> {
  const email = 'frances@by-hand.example';
  const clock = { now: Date.now() };
  const stored: string[] = [];
  let refusing = true;
  let jobsEnded = 0;
  const broker: Broker = async (_, body) => {
    if (refusing) throw new Error('The broker is overloaded.');
    stored.push(body);
    await until('both jobs have come to it', () => stored.length + jobsEnded >= 2);
  };
  const instances = [1, 2].map(() => new HandWrittenSender(prisma, clock, broker));
  await instances[0]?.register(email);
  await triedTimes(prisma, email, 1);

  refusing = false;
  clock.now += minuteMs;
  await Promise.all(instances.map((instance) => instance.retryFailed().then(() => (jobsEnded += 1))));
  return stored.length;
}

/** The broker refuses every try. */
async function untold(prisma: PrismaClient): Promise<number> {
  const email = 'joan@by-hand.example';
  const clock = { now: Date.now() };
  const refuse: Broker = () => Promise.reject(new Error('The broker is overloaded.'));
  const instance = new HandWrittenSender(prisma, clock, refuse);
  await instance.register(email);
  await triedTimes(prisma, email, 1);
  await jobFor(60, [instance], clock);
  await triedTimes(prisma, email, 5);
  // No part of it reports anything: whoever wants to know has to look into the table.
  return (await instance.givenUp()).length;
}

async function jobFor(minutes: number, instances: HandWrittenSender[], clock: Clock): Promise<void> {
  for (let passed = 0; passed < minutes; passed += 1) {
    clock.now += minuteMs;
    for (const instance of instances) await instance.retryFailed();
  }
}

const triedTimes = (prisma: PrismaClient, email: string, failCount: number): Promise<void> =>
  until(`it was tried ${failCount} times`, async () => {
    const tried = { body: { contains: email }, status: 2, failCount };
    return (await prisma.handMessage.count({ where: tried })) === 1;
  });
