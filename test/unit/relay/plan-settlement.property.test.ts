import fc from 'fast-check';
import { expect, test } from 'vitest';
import { progressOf, progressPast } from '../../../src/relay/lane-progress.ts';
import { type PlanInput, planSettlement } from '../../../src/relay/plan-settlement.ts';
import type { Outcome } from '../../../src/relay/publish-batch.ts';
import { claimedMessage, claimOf } from '../../support/fixtures/claimed-messages.ts';

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({
    kind: fc.constant('acknowledged'),
    partition: fc.nat(3),
    offset: fc.nat().map(String),
  } as const),
  fc.record({ kind: fc.constantFrom('rejected', 'ambiguous', 'permanent'), error: fc.string() } as const),
  fc.constant({ kind: 'blocked' } as const),
  fc.record({ kind: fc.constant('deferred'), onWire: fc.boolean() } as const),
  fc.constant({ kind: 'expired' } as const),
);

const row = fc.record({
  position: fc.integer({ min: 1, max: 60 }),
  outcome,
  blocked: fc.boolean(),
  key: fc.constantFrom('K', null),
  suspect: fc.boolean(),
  ownWorkflow: fc.constantFrom('own', null),
  attempts: fc.nat(3),
});

/** Any batch that a claim can answer, with any answer that a transport can give. */
const input: fc.Arbitrary<PlanInput> = fc
  .record({
    cursor: fc.nat(60),
    truncated: fc.boolean(),
    rows: fc.uniqueArray(row, { selector: ({ position }) => position, minLength: 1, maxLength: 12 }),
  })
  .map(({ cursor, truncated, rows }) => {
    const sorted = rows.toSorted((a, b) => a.position - b.position);
    const messages = sorted.map(({ position, outcome: _outcome, ...rest }) => claimedMessage(position, rest));
    return {
      owner: 'me',
      batchId: 'batch',
      progress: { cursor: String(cursor), snapshot: '800:800:' },
      claim: claimOf(messages, { truncated }),
      outcomes: sorted.map((r) => (r.blocked && r.outcome.kind !== 'expired' ? undefined : r.outcome)),
      rules: { retryMs: [1_000, 2_000], confirm: undefined },
    };
  });

test('the cursor never moves back, and its snapshot is the old one exactly when it may not move', () => {
  fc.assert(
    fc.property(input, (given) => {
      const settlement = planSettlement(given);
      if (settlement === undefined) return;
      const last = given.claim.messages.at(-1)?.position ?? '';
      const moved = settlement.snapshot === given.claim.snapshot;
      if (settlement.late !== undefined) expect(settlement.late.cursor).toBe(last);
      expect(BigInt(settlement.cursor)).toBeGreaterThanOrEqual(BigInt(given.progress.cursor));
      expect(moved || settlement.snapshot === given.progress.snapshot).toBe(true);
      if (moved) expect(BigInt(settlement.cursor)).toBeGreaterThanOrEqual(BigInt(last));
      else expect(settlement.cursor).toBe(given.progress.cursor);
    }),
  );
});

test('a fully acknowledged batch leaves its lane where a claim ahead begins', () => {
  fc.assert(
    fc.property(input, (given) => {
      const messages = given.claim.messages.map((message) => ({ ...message, blocked: false }));
      const claim = { ...given.claim, messages };
      const outcomes = messages.map(() => ({ kind: 'acknowledged', partition: 0, offset: '1' }) as const);
      const past = planSettlement({ ...given, claim, outcomes }) ?? given.progress;
      expect(progressOf(past)).toEqual(progressPast(claim, given.progress) ?? given.progress);
    }),
  );
});

/** What becomes of a row that the settlement does not write: passed, or read again by the next claim. */
function fates(given: PlanInput): Map<string, string> {
  const settlement = planSettlement(given);
  const passed = (settlement?.late ?? settlement)?.snapshot === given.claim.snapshot;
  const fate = new Map(given.claim.messages.map(({ id }) => [id, passed ? 'passed' : 'read again']));
  const seen = new Set<string>();
  for (const { id, to } of settlement?.changes ?? []) {
    expect(seen.has(id), 'one change per message').toBe(false);
    seen.add(id);
    fate.set(id, to);
  }
  return fate;
}

test('every message gets exactly one outcome: acknowledged ones are published, and nothing else is', () => {
  fc.assert(
    fc.property(input, (given) => {
      const fate = fates(given);
      expect(fate.size).toBe(given.claim.messages.length);
      for (const [place, { id, blocked, key }] of given.claim.messages.entries()) {
        const told = given.outcomes[place]?.kind;
        const kind = blocked && told !== 'expired' ? 'not sent' : told;
        const putBack = kind === 'blocked' && key === null;
        expect(expected[putBack ? 'deferred' : (kind ?? '')]).toContain(fate.get(id));
      }
    }),
  );
});

const expected: Readonly<Record<string, readonly string[]>> = {
  acknowledged: ['passed', 'published'],
  rejected: ['retrying', 'failed'],
  ambiguous: ['retrying', 'failed'],
  permanent: ['failed'],
  blocked: ['blocked'],
  deferred: ['ready', 'read again'],
  expired: ['expired'],
  'not sent': ['blocked', 'read again'],
};

test('a batch counts the acknowledged messages, and their positions bound it', () => {
  fc.assert(
    fc.property(input, (given) => {
      const sent = given.claim.messages.filter((_, place) => given.outcomes[place]?.kind === 'acknowledged');
      const batch = planSettlement(given)?.batch;
      expect(batch?.count ?? 0).toBe(sent.length);
      expect(batch?.firstPosition).toBe(sent.at(0)?.position);
      expect(batch?.lastPosition).toBe(sent.at(-1)?.position);
      const ranges = Object.values(batch?.partitions ?? {});
      expect(ranges.reduce((sum, { count }) => sum + count, 0)).toBe(sent.length);
    }),
  );
});

test('messages that the broker may have are marked, unless their row stays as suspect as before', () => {
  fc.assert(
    fc.property(input, (given) => {
      const changes = new Map(planSettlement(given)?.changes.map((change) => [change.id, change]));
      for (const [place, { id, suspect }] of given.claim.messages.entries()) {
        const answer = given.outcomes[place];
        const onWire = answer?.kind === 'ambiguous' || (answer?.kind === 'deferred' && answer.onWire);
        const change = changes.get(id);
        if (onWire) expect(change?.maybePublished).toBe(true);
        if (suspect && change !== undefined && change.to !== 'published')
          expect(change.maybePublished).toBe(true);
        if (!suspect && !onWire) expect(change?.maybePublished ?? false).toBe(false);
      }
    }),
  );
});
