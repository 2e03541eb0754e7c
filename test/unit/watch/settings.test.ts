import { expect, test } from 'vitest';
import { readConfig } from '../../../src/config/read-config.ts';
import { type AlertSettings, alertOptions, thresholdsOf } from '../../../src/watch/settings.ts';
import { webhookSecret } from '../../support/fixtures/webhook.ts';

const read = (given: AlertSettings) => readConfig(alertOptions, given, 'alerts');
const refused = (given: unknown): string => {
  try {
    readConfig(alertOptions, given, 'alerts');
    return 'accepted';
  } catch (error) {
    return String(error);
  }
};

test('thresholds are read in the unit of their rule, and a rule can be turned off', () => {
  const { to, again, interval, ...others } = read({
    oldestDue: '2 minutes',
    successRate: 0.5,
    failed: 3,
    lag: false,
    again: '1 hour',
  });

  expect(others).toMatchObject({
    oldestDue: 120_000,
    successRate: 0.5,
    failed: 3,
    lag: false,
    lateness: 60_000,
  });
  expect({ to, again, interval }).toEqual({ to: {}, again: 3_600_000, interval: 15_000 });
  expect(thresholdsOf(read({}))).toEqual({
    ...thresholdsOf(read({})),
    successRate: 0.99,
    failed: 0,
    lag: 10_000,
  });
});

test.each([
  [{ oldestDu: '1m' }, 'alerts.oldestDu is unknown'],
  [{ oldestDue: 'soon' }, 'alerts.oldestDue must be false or a duration'],
  [{ oldestDue: true }, 'alerts.oldestDue must be false or a duration'],
  [{ successRate: 99 }, 'alerts.successRate must be false or a number from 0 to 1'],
  [{ failed: -1 }, 'alerts.failed must be false or a whole number of at least 0'],
  [{ again: '1s' }, 'alerts.again must be a duration of 1 minute'],
  [{ interval: 0 }, 'alerts.interval must be a duration of 100 ms'],
  [{ to: { slack: {} } }, 'alerts.to.slack is unknown'],
  [
    { to: { email: { server: 'smtp://m', from: 'a@b', to: [] } } },
    'alerts.to.email.to must be a list of 1 to 20',
  ],
] as const)('%j is refused', (given, problem) => {
  expect(refused(given)).toContain(problem);
});

test.each([
  { webhook: { url: 'hooks.example/T0/secret' } },
  { webhook: { url: 'ftp://hooks.example/T0/secret' } },
  { webhook: { url: 'https://me:secret@hooks.example/T0' } },
  { webhook: { url: 'https://secret@hooks.example/T0' } },
  { webhook: { url: 'https://hooks.example/T0', secret: 'whsec_secret' } },
  { email: { server: 'https://shop:secret@mail.example', from: 'a@b', to: ['c@d'] } },
])('no error repeats a secret of %j', (to) => {
  const error = refused({ to });

  expect(error).toMatch(/must be/);
  expect(error.replace('whsec_` and at least', '')).not.toMatch(/secret\b(?! must)/);
});

test('a URL that is a function is read at every use', () => {
  let url = 'https://one.example/';
  const { to } = read({ to: { webhook: { url: () => url, secret: () => webhookSecret('k') } } });

  expect(to.webhook?.url()).toBe('https://one.example/');
  url = 'https://two.example/';
  expect(to.webhook?.url()).toBe('https://two.example/');
  url = 'nowhere';
  expect(() => to.webhook?.url()).toThrow(
    'alerts.to.webhook.url must be a URL that begins with https:// or http://, without user and password',
  );
});
