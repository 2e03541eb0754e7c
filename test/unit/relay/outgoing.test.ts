import { expect, test } from 'vitest';
import { outgoing } from '../../../src/relay/outgoing.ts';
import { claimedMessage } from '../../support/fixtures/claimed-messages.ts';

test('a message is sent with its body as stored, CloudEvents attributes, and the link to its workflow', () => {
  const message = claimedMessage(1, {
    key: 'k',
    payload: '{"a" : 1}',
    ownWorkflow: 'installation/message/id-1',
    attempts: 2,
    headers: { traceparent: '00-ab' },
  });

  expect(outgoing('order-placed', '/outbox/1', message)).toEqual({
    id: 'id-1',
    key: 'k',
    payload: '{"a" : 1}',
    headers: {
      traceparent: '00-ab',
      ce_specversion: '1.0',
      ce_id: 'id-1',
      ce_source: '/outbox/1',
      ce_type: 'order-placed',
      ce_time: '2026-01-02T03:04:05.678Z',
      'content-type': 'application/json',
      'outbox-workflow-id': 'installation/message/id-1',
      'outbox-attempt': '3',
    },
  });
});

test('a message that expires says when, as the CloudEvents extension expirytime', () => {
  const { headers } = outgoing('t', '/s', claimedMessage(1, { expiresAt: '2026-01-02T04:04:05.678Z' }));
  expect(headers).toMatchObject({ ce_expirytime: '2026-01-02T04:04:05.678Z' });
});

test('a first attempt by a lane has no redundant headers', () => {
  expect(Object.keys(outgoing('t', '/s', claimedMessage(1, { key: 'k' })).headers)).toEqual([
    'ce_specversion',
    'ce_id',
    'ce_source',
    'ce_type',
    'ce_time',
    'content-type',
  ]);
});

test('a header stored by other means cannot replace one of the outbox', () => {
  const forged = claimedMessage(1, {
    headers: { ce_id: 'forged', 'outbox-attempt': '9', 'outbox-workflow-id': 'w', 'content-type': 'x' },
  });

  const { headers } = outgoing('t', '/s', forged);

  expect(headers).toMatchObject({ ce_id: 'id-1', 'content-type': 'application/json' });
  expect(headers).not.toHaveProperty('outbox-attempt');
  expect(headers).not.toHaveProperty('outbox-workflow-id');
});
