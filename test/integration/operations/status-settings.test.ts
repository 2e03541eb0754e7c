import { expect, test } from 'vitest';
import { statusCommand } from '../../../src/cli/status-command.ts';
import { writeSettings } from '../../../src/store/installation/settings.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { written } from '../../support/fixtures/written.ts';

test('status ends with what changes, and shows limits and settings only where they are asked for', async ({
  onTestFinished,
}) => {
  const fixture = await laneFixture({ limits: { payloadBytes: 2_048 } });
  onTestFinished(() => fixture.drop());
  await writeSettings(fixture.database, [{ name: 'relay.drainTimeout', value: '30s' }]);
  const asked = async (settings?: true) => {
    const flags = { database: fixture.url, ...(settings && { settings }) };
    return (await written((output) => statusCommand(flags, output))).stdout;
  };

  const usual = await asked();
  expect(usual).toMatch(/^TOPIC +LANE /m);
  expect(usual).not.toMatch(/2 KiB|drainTimeout/);
  const whole = await asked(true);
  expect(whole).toMatch(/^orders .* 2 KiB /m);
  expect(whole).toMatch(/^relay\.drainTimeout +30s$/m);
});
