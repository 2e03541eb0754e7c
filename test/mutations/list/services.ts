import type { Mutation } from '../mutation.ts';

const receivedOnce = 'http-effect-once';
const guarded = 'http-reaches-no-private-address';
const startedOnce = 'workflow-started-once';

/** A message goes to a service by HTTP, or to a workflow. */
export const serviceMutations: readonly Mutation[] = [
  {
    name: 'outage-of-the-receiver-is-a-failure',
    promise: 'http-outage-spends-no-attempts',
    file: 'src/inbox/http/own-fault.ts',
    find: '  if (begun) return undefined;',
    replace: '  return undefined;',
    test: 'test/integration/http/receive-database.test.ts',
    title: ', an unusable database is answered so that the sender waits',
  },
  {
    name: 'failure-of-the-work-is-an-outage',
    promise: 'http-outage-spends-no-attempts',
    file: 'src/inbox/http/answer-request.ts',
    find: '        begun = true;\n',
    replace: '',
    test: 'test/integration/http/receive-database.test.ts',
    title: ', an error of the work itself is answered as a failure',
  },
  {
    name: 'http-work-without-id',
    promise: receivedOnce,
    file: 'src/inbox/http/answer-request.ts',
    find: 'await once(tx, group, message.id, () => {',
    replace: 'await (async (run: () => Promise<unknown>) => run())(() => {',
    test: 'test/integration/http/receive.test.ts',
    title: 'a message is applied once, and its repetition succeeds',
  },
  {
    name: 'http-signature-unread',
    promise: receivedOnce,
    file: 'src/inbox/http/answer-request.ts',
    find: 'if (refusal !== undefined) return',
    replace: 'if (refusal === null) return',
    test: 'test/integration/http/receive.test.ts',
    title: 'no work is done',
  },
  {
    name: 'http-caught-error-committed',
    promise: receivedOnce,
    file: 'src/inbox/http/answer-request.ts',
    find: '      await refuseSwallowedError(sqlOf(tx));\n',
    replace: '      sqlOf(tx);\n',
    test: 'test/integration/http/receive.test.ts',
    title: 'work that caught an error of the database does not succeed',
  },
  {
    name: 'http-name-not-judged-when-resolved',
    promise: guarded,
    file: 'src/brokers/http/transport/address-guard.ts',
    find: 'names.has(host.toLowerCase())',
    replace: '!names.has(host.toLowerCase())',
    test: 'test/transports/http/failures.test.ts',
    title: 'is refused before a connection is opened',
  },
  {
    name: 'workflow-started-again',
    promise: startedOnce,
    file: 'src/brokers/workflow/transport/workflow-calls.ts',
    find: 'const rejectDuplicate = 3;',
    replace: 'const rejectDuplicate = 1;',
    test: 'test/transports/workflow/delivery.test.ts',
    title: 'a message starts its workflow once',
  },
  {
    name: 'workflow-signal-without-id',
    promise: startedOnce,
    file: 'src/brokers/workflow/transport/workflow-calls.ts',
    find: 'const common = { namespace, identity, requestId };',
    replace: 'const common = { namespace, identity, requestId: `${requestId}${Math.random()}` };',
    test: 'test/transports/workflow/delivery.test.ts',
    title:
      'signal-with-start starts one workflow, and each signal arrives once, in order, however often it is sent',
  },
];
