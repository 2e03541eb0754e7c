import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { connectTemporal } from '../../../src/brokers/workflow/client/connection.ts';
import type { TemporalConfig } from '../../../src/config/temporal-config.ts';
import { temporalOf } from '../../../src/config/temporal-config.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { send } from '../../../src/outbox/send.ts';
import { type Credentials, testAuthority } from '../../support/fixtures/certificates.ts';
import { InboxStage, writeEffect } from '../../support/fixtures/inbox-stage.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { temporalGate } from '../../support/fixtures/temporal-gate.ts';
import { until } from '../../support/fixtures/until.ts';

const context = { onTestFinished };
const authority = testAuthority('right');
const stranger = testAuthority('wrong');
const server = authority.issue('127.0.0.1', 'temporal.test');

const pairOf = ({ cert: crt, key }: Credentials) => ({ crt, key });
const client = pairOf(authority.issue());
/** What gets in. */
const right = { serverRootCACertificate: authority.ca, clientCertPair: client };

beforeAll(quietTemporal);

async function connect(temporal: TemporalConfig): Promise<string> {
  const link = await connectTemporal(temporalOf(temporal));
  const { namespaceInfo } = await link.connection.workflowService.describeNamespace({ namespace: 'default' });
  await link.close();
  return namespaceInfo?.name ?? '';
}

async function failure(temporal: TemporalConfig): Promise<OutboxError> {
  const error: unknown = await connect(temporal).catch((thrown: unknown) => thrown);
  if (!(error instanceof OutboxError)) throw new Error(`It is no OutboxError: ${String(error)}`);
  return error;
}

test.each<[string, TemporalConfig['tls'] & object]>([
  ['as strings', right],
  ['as bytes', { serverRootCACertificate: Buffer.from(authority.ca), clientCertPair: client }],
  ['and another name of the server', { ...right, serverNameOverride: 'temporal.test' }],
  ['from a function, as from files read when needed', () => right],
])('connects to Temporal by TLS with a CA and a client certificate %s', async (_how, tls) => {
  const gate = await temporalGate(context, { server, clientsOf: authority.ca });

  expect(await connect({ address: gate.address, tls })).toBe('default');
  expect(gate.passed()).toBeGreaterThan(0);
});

test.each<[string, TemporalConfig['tls'], RegExp]>([
  ['another CA', { ...right, serverRootCACertificate: stranger.ca }, /signed by an unknown CA/],
  ['the CAs of the system', true, /signed by an unknown CA/],
  [
    'another name',
    { ...right, serverNameOverride: 'other.test' },
    /for 127\.0\.0\.1, temporal\.test, not for other\.test/,
  ],
  ['no client certificate', { serverRootCACertificate: authority.ca }, /temporal\.tls\.clientCertPair/],
  [
    'a client certificate of another CA',
    { ...right, clientCertPair: pairOf(stranger.issue()) },
    /temporal\.tls\.clientCertPair/,
  ],
  ['no TLS', undefined, /it requires TLS, but the setting temporal\.tls does not enable it/],
])('with %s the error names the server, the reason and the next step', async (_what, tls, reason) => {
  const gate = await temporalGate(context, { server, clientsOf: authority.ca });

  const error = await failure({ address: gate.address, ...(tls !== undefined && { tls }) });

  expect(error).toMatchObject({ code: 'OUTBOX_TLS_FAILED', retryable: false });
  expect(error.message).toContain(`TLS with Temporal at ${gate.address} failed`);
  expect(error.message).toMatch(reason);
  expect(error.next).toContain('tls.serverRootCACertificate');
});

test('TLS to a server without TLS is reported as such', async () => {
  const address = inject('temporalAddress');

  expect(await failure({ address, tls: true })).toMatchObject({
    code: 'OUTBOX_TLS_FAILED',
    message: expect.stringContaining(`${address} failed: it does not speak TLS`),
  });
});

test('an API key requires TLS and is sent to the server, and a wrong one is refused with the address', async () => {
  const gate = await temporalGate(context, { server, admits: (sent) => sent === 'Bearer right-key' });
  const tls = { serverRootCACertificate: authority.ca };
  const { address } = gate;

  expect(await connect({ address, tls, apiKey: 'right-key' })).toBe('default');
  expect(await connect({ address, tls, apiKey: async () => 'right-key' })).toBe('default');
  expect(await failure({ address, tls, apiKey: 'wrong-key' })).toMatchObject({
    code: 'OUTBOX_SERVER_REFUSED',
    message: expect.stringContaining(address),
    next: expect.stringContaining('API key'),
  });
  // With the CAs of the system, because nothing else is said: what fails is TLS.
  expect(await failure({ address, apiKey: 'right-key' })).toMatchObject({ code: 'OUTBOX_TLS_FAILED' });
});

test('an open connection adopts a changed key', async () => {
  let key = 'first';
  const gate = await temporalGate(context, { server, admits: (sent) => sent === `Bearer ${key}` });
  const tls = { serverRootCACertificate: authority.ca };
  let fails = false;
  const apiKey = (): string => {
    if (fails) throw new Error('the vault is sealed');
    return key;
  };
  const target = temporalOf({ address: gate.address, tls, apiKey });
  const link = await connectTemporal(target, 20);
  onTestFinished(() => link.close());
  const { workflowService } = new Client({ connection: link.connection });
  const works = () =>
    workflowService.describeNamespace({ namespace: 'default' }).then(
      () => true,
      () => false,
    );
  expect(await works()).toBe(true);

  fails = true;
  key = 'second';
  expect(await works()).toBe(false);
  fails = false;

  await until(works);
});

test('a function that returns no key is an error, and one that failed is called again', async () => {
  const fails = () => Promise.reject(new Error('the vault is sealed'));
  expect(await failure({ apiKey: fails })).toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: 'The function temporal.apiKey failed: the vault is sealed.',
  });
  expect(await failure({ apiKey: () => '' })).toMatchObject({ code: 'OUTBOX_CONFIG_INVALID' });
});

test('relay and consumer deliver, park and try again through TLS with client certificates', async () => {
  const gate = await temporalGate(context, { server, clientsOf: authority.ca });
  const stage = await InboxStage.create(1);
  onTestFinished(() => stage.end());
  const { topics, transports, database } = stage.config;
  const temporal = { address: gate.address, tls: right };
  const relay = startRelay({ database, temporal, topics, transports });
  onTestFinished(() => relay.stop());
  const attempts: number[] = [];
  // A consumer's process names neither the database of the outbox nor anything of the relay.
  const config = { temporal, topics, transports };
  const running = await consumer(stage.prisma, {
    config,
    group: stage.group,
    quickRetries: [],
    retry: [50, 50],
  })
    .on(stage.topic, async (tx, message) => {
      attempts.push(message.attempt);
      if (message.attempt < 3) throw new Error('not yet');
      await writeEffect(tx, 'one', message);
    })
    .start();
  onTestFinished(() => running.stop());
  await relay.ready;
  const before = gate.passed();

  await stage.prisma.$transaction((tx) => send(tx, stage.topic, { n: 7 }, { after: '10ms', key: 'a' }));

  await until(async () => (await stage.effects()).length === 1);
  expect(attempts).toEqual([1, 2, 3]);
  expect(gate.passed()).toBeGreaterThan(before);
});

test('a given connection is used and left open, one that a function made is closed', async () => {
  const address = inject('temporalAddress');
  const given = await NativeConnection.connect({ address });
  onTestFinished(() => given.close());
  expect(await connect({ connection: given })).toBe('default');
  expect(await connect({ connection: given })).toBe('default');

  let made: NativeConnection | undefined;
  const connection = async () => (made = await NativeConnection.connect({ address }));
  expect(await connect({ connection })).toBe('default');
  await expect(made?.close()).rejects.toThrow('closed');

  const foreign = { workflowService: {}, setApiKey: async () => undefined, close: async () => undefined };
  expect(await failure({ connection: foreign })).toMatchObject({
    code: 'OUTBOX_CONFIG_INVALID',
    details: { setting: 'temporal.connection' },
  });
});
