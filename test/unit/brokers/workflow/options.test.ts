import { expect, test } from 'vitest';
import {
  type WorkflowOptions,
  workflowSettings,
} from '../../../../src/brokers/workflow/transport/workflow-options.ts';
import { workflow } from '../../../../src/transports.ts';

const id = (): string => 'order';
const right: WorkflowOptions = { id, type: 'order', taskQueue: 'orders' };

test('defaults', () => {
  const { target, ...settings } = workflowSettings(right);
  expect(settings).toMatchObject({
    start: { type: 'order', taskQueue: 'orders' },
    signal: undefined,
    missing: 'rejected',
    concurrency: 16,
  });
  expect([target.address, target.namespace, target.tls]).toEqual(['localhost:7233', 'default', undefined]);
  expect(workflow(right).endpoint).toBe('localhost:7233 (namespace "default")');
});

test.each<[string, object]>([
  ['id', { id: 'order' }],
  ['type', { type: '' }],
  ['type', { type: undefined }],
  ['type', { type: undefined, taskQueue: undefined }],
  ['taskQueue', { taskQueue: undefined }],
  ['signal', { signal: 7 }],
  ['address', { address: '' }],
  ['namespace', { namespace: 7 }],
  ['tls', { tls: 'yes' }],
  ['tls.ca', { tls: { ca: '' } }],
  ['tls.clientCertPair.pem', { tls: { clientCertPair: { pem: '' } } }],
  ['tls.serverRootCACertificate', { tls: { serverRootCACertificate: './ca.pem' } }],
  ['apiKey', { apiKey: '' }],
  ['connection', { connection: {} }],
  ['connection', { connection: () => undefined, tls: true }],
  ['ref', { ref: '' }],
])('an invalid `%s` is refused at once', (option, wrong) => {
  expect(() => workflow({ ...right, ...wrong })).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', details: expect.objectContaining({ option }) }),
  );
});

test('a signal needs no workflow type, and an option that is a function is called when needed', () => {
  const address = (): string => {
    throw new Error('not yet');
  };
  const settings = workflowSettings({ id, signal: 'paid', address });
  expect(settings.start).toBeUndefined();
  expect(() => settings.target.address).toThrow('not yet');
});
