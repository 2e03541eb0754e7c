import { askAlone, exists } from '../client/asking.ts';
import type { Link } from '../client/link.ts';
import type { LinkUser } from '../client/link-user.ts';
import { codeOf } from '../client/reason.ts';
import { notCreated } from '../client/refused.ts';

const accessRefused = 403;

/**
 * Declares a durable exchange unless it exists.
 *
 * @param type the one that it must have; `undefined`: any, and `topic` for a new one
 * @returns whether it was created now
 * @throws OutboxError as `BrokerTopics.create`
 */
export async function createExchange(
  links: LinkUser,
  name: string,
  type: string | undefined,
): Promise<boolean> {
  return links
    .use((link) => declareIn(link, name, type))
    .catch((error: unknown) => {
      throw notCreated(`the exchange ${name}`, error);
    });
}

async function declareIn(link: Link, name: string, type: string | undefined): Promise<boolean> {
  const declare = (): Promise<unknown> =>
    askAlone(link, (channel) => channel.assertExchange(name, type ?? 'topic', { durable: true }));
  const there = await exists(link, (channel) => channel.checkExchange(name));
  if (!there) await declare();
  // The server compares the type of an existing one only for those who may create it.
  else if (type !== undefined)
    await declare().catch((error: unknown) => {
      if (codeOf(error) !== accessRefused) throw error;
    });
  return !there;
}
