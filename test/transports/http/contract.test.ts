import { expect, test } from 'vitest';
import { httpSettings } from '../../../src/brokers/http/transport/http-options.ts';
import { HttpTransport } from '../../../src/brokers/http/transport/http-transport.ts';
import { type TransportSubject, transportContract } from '../../../src/testing.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { httpEndpoint, secret } from './http-endpoint.ts';

/** An endpoint behind a proxy that can be made to fail. */
async function subject(): Promise<TransportSubject> {
  const endpoint = await httpEndpoint({
    answer: (_request, body) => (body === 'refused' ? { status: 400, body: 'not this one' } : undefined),
  });
  const proxy = await startFaultProxy(`127.0.0.1:${endpoint.port}`);
  let address = `http://${proxy.address}/orders?from=contract`;
  const settings = httpSettings({ secret, allow: ['127.0.0.1'], requestTimeout: '4s' });
  // What is too slow for one batch on a busy machine is another test's.
  const transport = new HttpTransport(settings, 60_000);
  let stopped = false;
  return {
    transport,
    get address() {
      return address;
    },
    partitions: 1,
    read: async () => endpoint.received,
    async dispose() {
      await proxy.close();
      await endpoint.stop();
    },
    faults: {
      refused: (message) => ({ ...message, payload: 'refused' }),
      async hold() {
        // The proxy would accept and reset, which leaves a request in doubt.
        address = `http://127.0.0.1:${endpoint.port}/orders`;
        await endpoint.stop();
        stopped = true;
      },
      loseAnswers: async () => proxy.inject({ kind: 'drop-replies' }),
      reorder: async () => proxy.inject({ kind: 'delay', ms: 2, jitterMs: 8 }),
      async heal() {
        proxy.heal();
        if (stopped) await endpoint.start();
        stopped = false;
      },
    },
  };
}

const cases = await transportContract(subject);

test('the contract runs every case whose fault a server can have', () => {
  expect(cases).toHaveLength(17);
});

for (const { name, run } of cases) test(name, run);
