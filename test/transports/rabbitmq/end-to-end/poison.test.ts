import { expect, inject, onTestFinished, test } from 'vitest';
import { range } from '../../../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../../../support/fixtures/memory-inbox.ts';
import { until } from '../../../support/fixtures/until.ts';
import { type Program, startProgram } from '../../../support/processes/program.ts';
import { brokerAt } from '../broker.ts';

const rabbitmqUrl = inject('rabbitmqUrl');
const address = 'numbers';
const deadly = 20;

test('F28 with a message that kills each of two consumers of a queue, three die and every other message is handled', {
  tags: ['killing-message-fails'],
}, async () => {
  const inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  const broker = await brokerAt(rabbitmqUrl);
  onTestFinished(() => broker.close());
  const { group, url } = inbox;
  await broker.channel.assertExchange(address, 'fanout');
  const deaths = supervised(2, () =>
    startProgram('fed-main', {
      group,
      url,
      rabbitmqUrl,
      deadly,
      feeds: [],
      retry: ['1h'],
      temporalAddress: inject('temporalAddress'),
    }),
  );
  const queue = `${address}.${group}`;
  await until(
    () =>
      broker.model.createChannel().then(async (channel) => {
        channel.on('error', () => undefined);
        const { consumerCount } = await channel.checkQueue(queue);
        await channel.close();
        return consumerCount === 2;
      }),
    60_000,
  );

  let sent = 0;
  const send = (): void => {
    sent += 1;
    const headers = { ce_id: `id-${sent}`, ce_type: address, 'outbox-key': `k${sent % 10}` };
    broker.channel.publish(address, '', Buffer.from(JSON.stringify({ n: sent })), {
      headers,
      messageId: `id-${sent}`,
      persistent: true,
    });
  };
  for (const _ of range(1, 40)) send();
  // The survivors continue with other messages all the time.
  await until(async () => {
    send();
    return (await inbox.kept()).length > 0 || deaths() > 4;
  }, 120_000);
  expect(deaths()).toBe(3);
  await until(async () => new Set(await inbox.effects()).size >= sent - 1, 60_000);

  expect(await inbox.kept()).toMatchObject([{ n: deadly, state: 'failed', reason: 'killed' }]);
  expect((await inbox.effects()).toSorted((a, b) => a - b)).toEqual(
    range(1, sent).filter((n) => n !== deadly),
  );
});

/** Keeps this many processes running until the test ends. @returns how many have died */
function supervised(count: number, start: () => Program): () => number {
  const over = new AbortController();
  let deaths = 0;
  const running = new Set<Program>();
  const keep = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const one = start();
      running.add(one);
      await one.exited;
      running.delete(one);
      if (!over.signal.aborted) deaths += 1;
    }
  };
  const kept = Array.from({ length: count }, keep);
  onTestFinished(async () => {
    over.abort();
    await Promise.all([...running].map((one) => one.kill()));
    await Promise.all(kept);
  });
  return () => deaths;
}
