import { expect, test } from 'vitest';
import { keptForMs } from '../../../../src/brokers/kafka/client/redelivery-period.ts';

const never = Number.POSITIVE_INFINITY;

test.each<[retention: string | undefined, policy: string | undefined, keptMs: number]>([
  ['604800000', 'delete', 604_800_000],
  ['60000', 'compact,delete', 60_000],
  ['60000', 'compact, delete', 60_000],
  ['-1', 'delete', never],
  ['60000', 'compact', never],
  [undefined, 'delete', never],
  ['60000', undefined, 60_000],
])(
  'a topic with retention.ms %s and cleanup.policy %s keeps a message for %d ms',
  (retention, policy, keptMs) => {
    const settings = new Map<string, string>();
    if (retention !== undefined) settings.set('retention.ms', retention);
    if (policy !== undefined) settings.set('cleanup.policy', policy);
    expect(keptForMs(settings)).toBe(keptMs);
  },
);
