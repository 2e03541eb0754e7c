import { expect, test } from 'vitest';
import { RelaySupervision } from '../../../src/app/relay/relay-supervision.ts';
import type { Maintenance } from '../../../src/relay/maintenance.ts';
import type { Relay } from '../../../src/relay/relay.ts';
import type { Engine } from '../../../src/temporal/relay/engine.ts';
import type { Hosted } from '../../../src/temporal/running-workers.ts';

function stage() {
  const log: string[] = [];
  let host = (_workers: Hosted): void => undefined;
  let refuse = (_error: Error): void => undefined;
  const engine: Partial<Engine> = {
    census: () => ({}) as ReturnType<Engine['census']>,
    repeater: () => ({}) as ReturnType<Engine['repeater']>,
    ping: async () => undefined,
    host: () =>
      new Promise((resolve, reject) => {
        host = resolve;
        refuse = reject;
      }),
    close: async () => void log.push('connection closed'),
  };
  const workers: Hosted = {
    done: Promise.resolve(),
    running: () => true,
    renew: () => undefined,
    stop: async () => void log.push('workers stopped'),
  };
  const stopping = new AbortController();
  let connections = 0;
  const supervision = new RelaySupervision({
    servers: {
      engine: async () => {
        connections += 1;
        return engine as Engine;
      },
    },
    installation: 'i-1',
    intervals: {} as never,
    topics: 1,
    stopping: stopping.signal,
    report: () => undefined,
  });
  const begun = supervision.begin({} as Relay, () => ({}) as Maintenance).catch(() => undefined);
  return {
    begun,
    connections: () => connections,
    log,
    stopping,
    supervision,
    created: () => host(workers),
    refused: () => refuse(new Error('no')),
  };
}

const turn = () => new Promise(setImmediate);

test('a stop while workers are being created ends them before their connection, and does not wait for them', async () => {
  const { created, log, stopping, supervision } = stage();
  await turn();
  stopping.abort();
  await supervision.stop();
  expect(log).toEqual([]);
  created();
  await turn();
  expect(log).toEqual(['workers stopped', 'connection closed']);
});

test('a stop while workers are refused closes the connection after that', async () => {
  const { log, refused, stopping, supervision } = stage();
  await turn();
  stopping.abort();
  await supervision.stop();
  refused();
  await turn();
  expect(log).toEqual(['connection closed']);
});

test('all who need the connection share one', async () => {
  const { connections, created, stopping, supervision } = stage();
  expect(await supervision.connected()).toBe(await supervision.connected());
  expect(connections()).toBe(1);
  stopping.abort();
  created();
  await supervision.stop();
});
