import type { Mutation } from '../mutation.ts';

const filled = 'A batch fills, or its time is over';
const effectOnce = 'Effect once (I4)';
const hostile = 'Hostile messages are refused with a reason (F28)';
const killer = 'A message that kills its consumer is failed after three deaths';
const filter = 'The fast filter loses nothing';
const settledFirst = 'A message is acknowledged after it is settled';
const ownLimits = 'Rows locked by others cost a consumer one connection per message in hand, no more';
const away = 'An outage of a dependency fails no message';

/** A message arrives and is handled. */
export const inboxMutations: readonly Mutation[] = [
  {
    name: 'id-noted-before-its-effects',
    promise: effectOnce,
    file: 'src/inbox/intake/applier.ts',
    find: 'const arrivals = await noteArrivals(sql, group, messages, client.limits);\n',
    replace: `const arrivals = await client.$transaction((own) =>
        noteArrivals(sqlOf(own), group, messages, client.limits),
      );\n`,
    test: 'test/integration/inbox/effect-once.test.ts',
    title: 'a handler that throws leaves neither effect nor id and is tried again in place',
  },
  {
    name: 'filter-that-fails-has-seen',
    promise: filter,
    file: 'src/inbox/window/filter-in-epoch.ts',
    find: '      } catch {\n        return nothing;',
    replace: '      } catch {\n        return new Set(ids);',
    test: 'test/unit/inbox/seen-filter.test.ts',
    title: 'a filter that throws or rejects has seen nothing',
  },
  {
    name: 'filter-noted-before-the-commit',
    promise: filter,
    file: 'src/inbox/intake/settle-one.ts',
    find: '    const settled = await this.#settled(',
    replace: `    await this.#outcomes.note([message], [{ kind: 'handled' }]);\n    const settled = await this.#settled(`,
    test: 'test/integration/inbox/filter.test.ts',
    title: 'ids are added to the filter only after their effects are committed,',
  },
  {
    name: 'broken-text-let-through',
    promise: hostile,
    file: 'src/inbox/reading/parse-body.ts',
    find: 'if (!isUtf8(body)) throw',
    replace: 'if (body.length < 0 && !isUtf8(body)) throw',
    test: 'test/unit/inbox/hostile-messages.test.ts',
    title: 'half a surrogate pair is not UTF-8, and an escaped one arrives as it was sent',
  },
  {
    name: 'marks-never-written',
    promise: killer,
    file: 'src/store/inbox/marks.ts',
    find: '$6::integer from quick`;',
    replace: '$6::integer from quick where false`;',
    test: 'test/integration/inbox/marks.test.ts',
    title: 'a message in hand alone at one death of its consumer too many is failed without being started',
  },
  {
    name: 'marks-of-other-members-are-not-read',
    promise: killer,
    file: 'src/store/inbox/marks.ts',
    find: 'and m.partition = $3 and m.owner <> $4::uuid',
    replace: 'and m.partition = $3 and m.owner = $4::uuid',
    test: 'test/integration/inbox/marks.test.ts',
    title:
      'when members that share a partition die of a message, it is failed while another member continues',
  },
  {
    name: 'acknowledged-before-it-is-settled',
    promise: settledFirst,
    file: 'src/inbox/intake/settle-one.ts',
    find: `    if (settled.kind !== 'done') return false;\n`,
    replace: `    batch.acknowledge(message.incoming);\n    if (settled.kind !== 'done') return false;\n`,
    test: 'test/integration/inbox/consumer-life.test.ts',
    title:
      'a message between two quick tries when its consumer stops stays open, and the next consumer handles it',
  },
  {
    name: 'batch-ends-before-its-receipts',
    promise: settledFirst,
    file: 'src/inbox/intake/message-intake.ts',
    find: 'await this.#context.receipts?.flush()',
    replace: 'void this.#context.receipts?.flush()',
    test: 'test/integration/inbox/consumer-life.test.ts',
    title: 'while receipts are being sent, their batch does not end',
  },
  {
    name: 'parked-although-its-address-pauses',
    promise: away,
    file: 'src/inbox/handling/breaker.ts',
    find: '    this.#prolong(address, health, health.pause);\n    return true;',
    replace: '    this.#prolong(address, health, health.pause);\n    return false;',
    test: 'test/unit/inbox/breaker.test.ts',
    title: 'an address pauses when enough different keys have failed',
  },
  {
    name: 'few-bad-keys-pause-their-address',
    promise: away,
    file: 'src/inbox/handling/breaker.ts',
    find: ' || 2 * failed <= health.failedByKey.size',
    replace: '',
    test: 'test/unit/inbox/breaker.test.ts',
    title: 'failing keys pause nothing as long as more others succeed',
  },
  {
    name: 'probe-that-was-not-marked-keeps-its-turn',
    promise: away,
    file: 'src/inbox/handling/breaker.ts',
    find: `      if (entry === 'probe') this.probeLeft(address);`,
    replace: '',
    test: 'test/unit/inbox/intake-breaker.test.ts',
    title: 'a probe that could not be marked is left to the next one',
  },
  {
    name: 'faults-of-the-database-are-the-message',
    promise: 'Errors of the database cost no message a try',
    file: 'src/inbox/handling/infrastructure-faults.ts',
    find: 'of layersOf(error)) {',
    replace: 'of layersOf(undefined)) {',
    test: 'test/integration/inbox/faults.test.ts',
    title: 'is classified as a fault:',
  },
  {
    name: 'receive-without-limits',
    promise: ownLimits,
    file: 'outbox.write_receive_one()',
    find: `
    || set_config('lock_timeout'::text, p_limit_ms::text, true) || set_config('statement_timeout'::text, p_limit_ms::text, true);`,
    replace: ';',
    test: 'test/integration/inbox/idle-limit.test.ts',
    title: 'waits for others no longer than its own limit',
  },
  {
    name: 'join-without-limits',
    promise: ownLimits,
    file: 'src/store/inbox/tries.ts',
    find: '     from outbox.limit_transaction($6::integer, $7::integer)`,',
    replace: '     where $7::integer is not null`,',
    test: 'test/integration/inbox/idle-limit.test.ts',
    title: 'waits for others no longer than its own limit',
  },
  {
    name: 'ids-of-two-sources-equal',
    promise: effectOnce,
    file: 'src/inbox/reading/message-id.ts',
    find: `if (source === undefined || source === '' ||`,
    replace: `if (source === undefined || source !== '' ||`,
    test: 'test/integration/inbox/foreign.test.ts',
    title:
      'of two systems that both count their events from 1 every event is handled and every repeat dropped',
  },
  {
    name: 'kept-ids-of-two-sources-equal',
    promise: hostile,
    file: 'src/inbox/handling/arrived.ts',
    find: `eventId(id, incoming.header('ce_source'))`,
    replace: `eventId(id, undefined)`,
    test: 'test/integration/inbox/foreign.test.ts',
    title: 'every event of an unknown topic is kept',
  },
  {
    name: 'batch-never-waits',
    promise: filled,
    file: 'src/inbox/intake/message-intake.ts',
    find: 'size && waitMs ? new',
    replace: 'size && waitMs && waitMs < 0 ? new',
    test: 'test/integration/inbox/batch-wait.test.ts',
    title: 'messages that trickle in',
  },
  {
    name: 'batch-waits-again-after-a-failure',
    promise: filled,
    file: 'src/inbox/intake/gathering.ts',
    find: 'const again = gone === undefined ? 0 : ids',
    replace: 'const again = gone !== undefined ? 0 : ids',
    test: 'test/unit/inbox/gathering.test.ts',
    title: 'what was let go and is offered again',
  },
  {
    name: 'batch-skips-what-waits',
    promise: filled,
    file: 'src/inbox/intake/steps.ts',
    find: 'batch.reject(incoming, againMs);',
    replace: 'batch.acknowledge(incoming);',
    test: 'test/unit/inbox/intake-batches.test.ts',
    title: 'messages that wait for a batch to fill',
  },
];
