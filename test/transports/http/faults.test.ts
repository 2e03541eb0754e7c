import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../dev/servers/process/free-port.ts';
import { http } from '../../../src/transports.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { freeze } from '../../support/processes/frozen-process.ts';
import { startHttpReceiver } from '../../support/processes/http-receiver-process.ts';
import { httpEndpoint, secret } from './http-endpoint.ts';

/** Long enough for a busy machine, and short enough to wait for where no answer comes. */
const requestTimeout = 2_000;

function transportOf() {
  const transport = http({ secret, allow: ['127.0.0.1'], requestTimeout });
  onTestFinished(() => transport.close());
  return transport;
}

const batch = () => [outgoing('a'), outgoing('a'), outgoing('b')];

test('a frozen receiver leaves messages in flight ambiguous and keys wait, and delivery continues afterwards', async () => {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}/hook`;
  const receiver = await startHttpReceiver({ port });
  const transport = transportOf();
  expect(countKinds(await publishTo(transport, address, batch()))).toEqual({ acknowledged: 3 });
  await freeze(receiver.pid);

  const { outcomes, hold } = await publishTo(transport, address, batch());

  const error = `127.0.0.1:${port}: no answer within ${requestTimeout} ms`;
  expect(hold).toBeUndefined();
  expect(outcomes).toMatchObject([
    { kind: 'ambiguous', error },
    { kind: 'blocked' },
    { kind: 'ambiguous', error },
  ]);
  process.kill(receiver.pid, 'SIGCONT');
  expect(countKinds(await publishTo(transport, address, batch()))).toEqual({ acknowledged: 3 });
});

test('a killed receiver holds its address, uses up no attempt while it is down, and is used when it is back', async () => {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}/hook?token=s3cret`;
  const receiver = await startHttpReceiver({ port });
  const transport = transportOf();
  expect(countKinds(await publishTo(transport, address, batch()))).toEqual({ acknowledged: 3 });
  await receiver.kill();

  // The connections of before may be noticed by a request alone.
  await expect
    .poll(async () => (await publishTo(transport, address, batch())).hold?.reason)
    .toContain('ECONNREFUSED');
  const { outcomes, hold } = await publishTo(transport, address, batch());

  expect(hold?.scope).toBe('topic');
  expect(hold?.reason).not.toContain('s3cret');
  expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome)))).toEqual(
    new Set(['{"kind":"deferred","onWire":false}']),
  );
  await expect(transport.probe(address)).rejects.toThrow('ECONNREFUSED');
  await startHttpReceiver({ port });
  await transport.probe(address);
  expect(countKinds(await publishTo(transport, address, batch()))).toEqual({ acknowledged: 3 });
});

test('a network that resets requests makes them ambiguous, and the next ones arrive', async () => {
  const endpoint = await httpEndpoint();
  onTestFinished(() => endpoint.stop());
  const proxy = await startFaultProxy(`127.0.0.1:${endpoint.port}`);
  onTestFinished(() => proxy.close());
  const address = `http://${proxy.address}/hook?token=s3cret`;
  const transport = transportOf();
  expect(countKinds(await publishTo(transport, address, batch()))).toEqual({ acknowledged: 3 });
  proxy.inject({ kind: 'reset' });

  const result = await publishTo(transport, address, batch());

  expect(countKinds(result)).toEqual({ ambiguous: 2, blocked: 1 });
  expect(JSON.stringify(result)).not.toContain('s3cret');
  expect(proxy.fired('reset')).toBeGreaterThan(0);
  expect(endpoint.received).toHaveLength(3);
  proxy.heal();
  expect(countKinds(await publishTo(transport, address, batch()))).toEqual({ acknowledged: 3 });
});

test('an unanswered TLS handshake holds the address: the request was not sent', async () => {
  const endpoint = await httpEndpoint();
  onTestFinished(() => endpoint.stop());
  const proxy = await startFaultProxy(`127.0.0.1:${endpoint.port}`);
  onTestFinished(() => proxy.close());
  proxy.inject({ kind: 'blackhole' });

  const { outcomes, hold } = await publishTo(transportOf(), `https://${proxy.address}/hook`, [outgoing('a')]);

  expect(outcomes).toEqual([{ kind: 'deferred', onWire: false }]);
  expect(hold).toEqual({ scope: 'topic', reason: expect.stringContaining(proxy.address) });
  expect(endpoint.requests).toEqual([]);
});
