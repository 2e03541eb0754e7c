import { operations } from '../../src/app/operations/operations.ts';
import type { Scene } from './scene.ts';
import { shopConfig } from './shop-config.ts';

/** Every guarantee that `temporal-outbox verify` finds violated, as sentences: the report an operator would get. */
export async function judgePromises({ addresses, tell }: Scene): Promise<readonly string[]> {
  const operated = operations(shopConfig(addresses));
  try {
    const report = await operated.verify({
      effects: {
        group: 'shop',
        query: 'select message_id as id, count(*) as effects from effects group by message_id',
      },
    });
    const broken = report.invariants.filter(({ ok }) => !ok);
    tell(
      broken.length === 0
        ? `   temporal-outbox verify: ${report.invariants.length} promises kept, ${report.records} records read.`
        : '   temporal-outbox verify: a promise is broken.',
    );
    return broken.flatMap(({ invariant, first }) =>
      first.map((violation) => `${invariant}: ${JSON.stringify(violation)}`),
    );
  } finally {
    await operated.close();
  }
}
