import type { Channel } from 'amqplib';
import type { Link } from './link.ts';
import { codeOf } from './reason.ts';

const notFound = 404;

/** Asks on a channel of its own, because the server closes the channel on which it refuses something. */
export async function askAlone<Answer>(
  link: Link,
  question: (channel: Channel) => Promise<Answer>,
): Promise<Answer> {
  return link.ask(async (model) => {
    const channel = await model.createChannel();
    // The request rejects with the same error; without a listener it would end the process.
    channel.on('error', () => undefined);
    const answer = await question(channel);
    await channel.close();
    return answer;
  });
}

/** Whether that which the question names is there. */
export async function exists(link: Link, question: (channel: Channel) => Promise<unknown>): Promise<boolean> {
  try {
    await askAlone(link, question);
    return true;
  } catch (error) {
    if (codeOf(error) === notFound) return false;
    throw error;
  }
}
