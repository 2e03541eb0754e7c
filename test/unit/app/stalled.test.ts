import { expect, test } from 'vitest';
import { stalledGroupsOf } from '../../../src/app/relay/stalled.ts';
import type { Config } from '../../../src/config/config.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { numbered } from '../../support/fixtures/stage.ts';

test.each([
  ['nothing', {}, false],
  ['stalled', { stalled: {} }, true],
  ['onStalled', { onStalled: async () => undefined }, true],
  ['alerts, which have a rule for it', { alerts: {} }, true],
] as const)('a configuration with %s watches groups: %j', (_what, given, watches) => {
  const config: Config = { topics: [numbered('orders')], transports: {}, ...given };
  const watching = stalledGroupsOf(config, { database: {} as Database, report: () => undefined });

  expect(watching !== undefined).toBe(watches);
});
