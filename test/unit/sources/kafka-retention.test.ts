import { expect, test } from 'vitest';
import { keptForMs } from '../../../src/kafka/redelivery-horizon.ts';

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
    const entries = [
      { configName: 'retention.ms', configValue: retention },
      { configName: 'cleanup.policy', configValue: policy },
    ].flatMap(({ configName, configValue }) =>
      configValue === undefined ? [] : [{ configName, configValue }],
    );
    expect(keptForMs(entries)).toBe(keptMs);
  },
);
