import { type Diagnosis, type DoctorFinding, fine, warning } from '../../../core/diagnosis.ts';
import { OutboxError } from '../../../core/errors.ts';
import { reasonOf } from '../../../core/reason.ts';
import type { BrokerGroups } from '../../capabilities.ts';
import { askAlone, exists } from '../client/asking.ts';
import type { Link } from '../client/link.ts';
import type { LinkUser } from '../client/link-user.ts';
import { notCreated, serverUnavailable } from '../client/refused.ts';
import { openQueue } from './open-queue.ts';
import type { QueueRules } from './queue-rules.ts';

/** The queues of groups, one per address. */
export function groupQueues(links: LinkUser, rules: QueueRules): BrokerGroups {
  const named = (queue: string): string => `the queue ${queue}`;
  return {
    missing: (group, addresses) =>
      links
        .use(async (link) => {
          const missing: string[] = [];
          for (const address of addresses) {
            const queue = rules.name(address, group);
            if (!(await exists(link, (channel) => channel.checkQueue(queue)))) missing.push(named(queue));
          }
          return missing;
        })
        .catch((error: unknown) => {
          throw serverUnavailable(reasonOf(error), error);
        }),
    async create(group, addresses) {
      const created: string[] = [];
      for (const address of addresses) {
        const what = named(rules.name(address, group));
        const made = await links
          .use((link) => createQueue(link, { address, group, rules }))
          .catch((error: unknown) => {
            throw notCreated(what, error);
          });
        if (made) created.push(what);
      }
      return created;
    },
    durability: (group, addresses) =>
      links.use(async (link) => {
        const findings: DoctorFinding[] = [];
        for (const address of addresses) {
          const queue = rules.name(address, group);
          const diagnosis = judged(queue, await isDurable(link, queue));
          if (diagnosis !== undefined) findings.push({ check: `queue ${queue}`, ...diagnosis });
        }
        return findings;
      }),
  };
}

interface WantedQueue {
  readonly address: string;
  readonly group: string;
  readonly rules: QueueRules;
}

/** Declares and binds the queue as a consumer does. @returns whether it was created now */
async function createQueue(link: Link, { address, group, rules }: WantedQueue): Promise<boolean> {
  const queue = rules.name(address, group);
  const there = await exists(link, (channel) => channel.checkQueue(queue));
  if (!there && !rules.declare)
    throw new OutboxError(
      'OUTBOX_ADDRESS_MISSING',
      `RabbitMQ has no queue ${queue}, and it is not created, because the option \`queues.declare\` of rabbitmq() is false.`,
      { details: { addresses: [address], queue } },
    );
  const { channel } = await openQueue(link, { address, group, rules, prefetch: 1 });
  await link.ask(() => channel.close());
  return !there;
}

/**
 * Whether a queue is still there after a restart of the server; `undefined`: it is missing, or this user may not ask.
 *
 * AMQP discloses the properties of a queue only to those who declare it with others. A quorum queue that is not durable cannot be
 * declared, so nothing is created, whatever exists.
 */
async function isDurable(link: Link, queue: string): Promise<boolean | undefined> {
  try {
    await askAlone(link, (channel) =>
      channel.assertQueue(queue, { durable: false, arguments: { 'x-queue-type': 'quorum' } }),
    );
    return undefined;
  } catch (error) {
    const difference = /inequivalent arg '([\w-]+)'/.exec(reasonOf(error))?.[1];
    return difference === undefined ? undefined : difference === 'durable';
  }
}

function judged(queue: string, durable: boolean | undefined): Diagnosis | undefined {
  if (durable === undefined) return undefined;
  if (durable) return fine('It is on disk, and still there after a restart of RabbitMQ.');
  return warning(
    `The queue ${queue} is not durable: a restart of RabbitMQ deletes it with its messages, although they were acknowledged.`,
    'delete it when it is empty, and run temporal-outbox migrate --create with --group: what is in a deleted queue is lost',
  );
}
