import type { Claim, ClaimedMessage } from '../../src/store/claim.ts';

/** A claimed row as on a sunny day; a test states what differs. */
export function claimedMessage(position: number, overrides: Partial<ClaimedMessage> = {}): ClaimedMessage {
  return {
    id: `id-${position}`,
    position: String(position),
    key: null,
    payload: '{}',
    contentType: 'application/json',
    headers: null,
    workflowId: 'installation/lane/orders/0',
    ownWorkflow: false,
    attempts: 0,
    createdAt: new Date('2026-01-02T03:04:05.678Z'),
    blocked: false,
    suspect: false,
    ...overrides,
  };
}

export function claimOf(messages: readonly ClaimedMessage[], overrides: Partial<Claim> = {}): Claim {
  return { snapshot: '900:900:', owned: true, paused: false, truncated: false, messages, ...overrides };
}
