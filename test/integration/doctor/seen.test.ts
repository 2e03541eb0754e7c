import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import type { CertificateEnd } from '../../../src/core/certificate-end.ts';
import { writeConsumer } from '../../../src/store/inbox/consumers.ts';
import { type RelayStatus, writeRelay } from '../../../src/store/installation/relays.ts';
import { ownDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { examined } from '../../support/fixtures/doctor.ts';
import { quietRelay } from '../../support/fixtures/quiet-figures.ts';

let made: TestDatabase;
beforeEach(async () => {
  made = await ownDatabase();
});

const relay = randomUUID();
const relaySees = (what: {
  readonly lags?: RelayStatus['lags'];
  readonly certificates?: readonly CertificateEnd[];
}): Promise<unknown> => writeRelay(made.database, { ...quietRelay, ...what, id: relay });
const found = async (check: string) => (await examined({ database: { url: made.url } })).get(check);
const inDays = (days: number): string =>
  new Date(Date.now() + days * 24 * 3_600_000 + 3_600_000).toISOString();

test('doctor names a group for which messages wait while no consumer of it runs', {
  tags: ['alerts-told-once'],
}, async () => {
  const behind = (messages: number) =>
    ['billing', 'mail'].map((group) => ({ group, topic: 'orders', messages }));
  await relaySees({ lags: behind(0) });
  expect(await found('consumers')).toMatchObject({ state: 'ok' });

  await relaySees({ lags: behind(3) });
  await writeConsumer(made.database, {
    id: randomUUID(),
    group: 'mail',
    host: 'a',
    pid: 1,
    version: '0.1.0',
    partitions: [],
  });

  expect(await found('consumers')).toEqual({
    check: 'consumers',
    state: 'warning',
    message: 'No consumer of billing runs, and messages wait: none of them has an effect.',
    next: 'Start one; if it runs, its log says what it waits for.',
  });
});

test('doctor tells whose certificate expires first, before and after that', async () => {
  const authority = { server: 'kafka', whose: 'authority', until: inDays(40) } as const;
  expect(await found('certificates')).toBeUndefined();
  await relaySees({ certificates: [authority] });
  expect(await found('certificates')).toMatchObject({ state: 'ok' });

  await relaySees({ certificates: [authority, { ...authority, whose: 'client', until: inDays(10) }] });
  expect(await found('certificates')).toEqual({
    check: 'certificates',
    state: 'warning',
    message:
      'The certificate that relays show kafka expires in 10 days: new connections are refused from then on.',
    next: 'Renew the file, and restart relays and consumers one by one.',
  });

  await relaySees({ certificates: [{ ...authority, until: inDays(-2) }] });
  expect(await found('certificates')).toMatchObject({
    state: 'problem',
    message: 'The certificate of an authority for kafka has expired: new connections are refused.',
    next: 'Put that of its successor into the file, and restart relays and consumers one by one.',
  });
});
