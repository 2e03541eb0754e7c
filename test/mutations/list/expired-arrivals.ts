import type { Mutation } from '../mutation.ts';

const notSent = 'expired-not-sent';
const test = 'test/integration/inbox/expired.test.ts';

/** What consumers do with messages that have expired. */
export const expiredArrivalMutations: readonly Mutation[] = [
  {
    name: 'expired-message-is-handled',
    promise: notSent,
    file: 'src/inbox/intake/applier.ts',
    find: 'if (isExpired(incoming)) return expired;',
    replace: '',
    test,
    title: 'of an expired message the id is stored',
  },
  {
    name: 'expired-id-is-not-noted-on-arrival',
    promise: notSent,
    file: 'src/inbox/intake/applier.ts',
    find: `prepared[n]?.kind === 'expired' && arrivals[n] === 'new'`,
    replace: 'false',
    test,
    title: 'a verification does not miss the effects of expired messages',
  },
  {
    name: 'expired-id-is-not-noted-by-the-drain',
    promise: notSent,
    file: 'src/inbox/parked/key-drain.ts',
    find: 'ids.filter((_, n) => found[n]?.expired === true)',
    replace: '[]',
    test,
    title: 'a verification does not miss the effects of expired messages',
  },
  {
    name: 'retry-drops-an-expired-kept-message',
    promise: notSent,
    file: 'outbox.retry_kept()',
    find: `when outbox.wire_expired((l.message).wire) then 'expired'`,
    replace: '',
    test,
    title: 'a retry of an expired failed message is refused by name',
  },
  {
    name: 'edit-keeps-the-expiry-of-a-kept-message',
    promise: notSent,
    file: 'src/store/inbox/edit.ts',
    find: `name !== 'ce_expirytime'`,
    replace: 'true || name',
    test,
    title: 'a retry of an expired failed message is refused by name',
  },
  {
    name: 'any-text-is-an-expiry',
    promise: notSent,
    file: 'src/core/expiry-time.ts',
    find: 'statedTime(expirytime)',
    replace: `new Date(expirytime ?? '')`,
    test,
    title: 'of an expired message the id is stored',
  },
  {
    name: 'expired-parked-message-is-tried',
    promise: notSent,
    file: 'src/inbox/parked/parked-message.ts',
    find: 'expired: isExpired(incoming),',
    replace: 'expired: false,',
    test,
    title: 'a message that expires while its tries fail',
  },
];
