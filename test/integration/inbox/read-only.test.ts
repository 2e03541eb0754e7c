import pg from 'pg';
import { expect, test } from 'vitest';
import { clientOf } from '../../../src/consumer.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { letWrite } from '../../support/fixtures/read-only.ts';
import { until } from '../../support/fixtures/until.ts';
import type { ShopTransaction } from '../../support/processes/fed-consumer.ts';

const withinMs = 60_000;

/** Opens and gives back as many connections as the pool may have, so that each of them is of this window. */
async function fill(pool: pg.Pool): Promise<void> {
  const opened = await Promise.allSettled(Array.from({ length: pool.options.max }, () => pool.connect()));
  for (const one of opened) if (one.status === 'fulfilled') one.value.release();
}

test.for(['Prisma', 'clientOf'] as const)(
  'a consumer of %s goes on by itself after its database was read-only for a while',
  { tags: ['read-only-session-not-reused'], timeout: 5 * withinMs },
  async (kind, { onTestFinished }) => {
    const inbox = await MemoryInbox.create();
    onTestFinished(() => inbox.end());
    // No idle connection is closed: what says that it is read-only would do so for ever. Few, because each fails once.
    const pool = new pg.Pool({ connectionString: inbox.url, max: 3, idleTimeoutMillis: 0 });
    const prisma = kind === 'Prisma' ? openPrisma(inbox.url, { pool }) : undefined;
    const client = prisma ?? pooled(pool);
    const consumer = await inbox.consume({ quickRetries: [1] }, client);
    onTestFinished(async () => {
      await consumer.stop();
      await prisma?.$disconnect();
      if (prisma === undefined) await pool.end();
    });
    inbox.feed({ n: 1 });
    await until(() => consumer.counts().handled === 1, withinMs);

    await letWrite(inbox.url, false);
    inbox.feed({ n: 2 });
    await until(
      () => consumer.health().failing.some(({ error }) => /read-only/.test(String(error))),
      withinMs,
    );
    await fill(pool);
    const told = consumer.health().failing.map(({ error }) => String(error));
    await letWrite(inbox.url, true);
    inbox.feed({ n: 3 });
    await until(() => consumer.counts().handled === 3, withinMs).catch(() => undefined);

    expect(told.join('\n')).toMatch(/read-only/);
    expect(await inbox.effects()).toEqual([1, 2, 3]);
    expect(consumer.counts().failedAttempts).toBe(0);
    await until(() => consumer.health().failing.length === 0, withinMs);
  },
);

/** With the one method of Prisma that the handler of the inbox calls. */
function pooled(pool: pg.Pool): Parameters<MemoryInbox['consume']>[1] {
  const client = clientOf(pool);
  return {
    $transaction: (work, options) =>
      client.$transaction(
        (tx) =>
          work({
            ...tx,
            $executeRaw: (texts: TemplateStringsArray, ...values: unknown[]) =>
              tx.query(
                texts.reduce((text, part, index) => `${text}$${index}${part}`),
                values,
              ),
          } as unknown as ShopTransaction),
        options,
      ),
  };
}
