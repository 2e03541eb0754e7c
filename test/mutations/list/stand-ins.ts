import type { Mutation } from '../mutation.ts';

const whoever = 'every-relay-delivers';
const test = 'test/integration/relay/stand-ins.test.ts';

/** A lane is drained in place of its workflow. */
export const standInMutations: readonly Mutation[] = [
  {
    name: 'stand-in-beside-its-workflow',
    promise: whoever,
    file: 'src/relay/relay.ts',
    find: `if (this.#drains.has(lane)) return 'taken';`,
    replace: '',
    test,
    title: 'a lane that its workflow drains has no stand-in',
  },
  {
    name: 'stand-in-unmarked',
    promise: whoever,
    file: 'src/relay/relay.ts',
    find: 'return this.#drain(lane, { signal, progress });',
    replace: 'return this.#drain(lane, { signal, progress, standIn: true });',
    test,
    title: 'a lane that its workflow drains has no stand-in',
  },
  {
    name: 'workflow-no-longer-wanted',
    promise: whoever,
    file: 'src/store/lane/lease.ts',
    find: 'wanted_since = case when $6 then l.wanted_since end,',
    replace: 'wanted_since = case when not $6 then l.wanted_since end,',
    test,
    title: 'a workflow stays wanted while a stand-in drains in its place and is replaced after a minute',
  },
  {
    name: 'engine-asked-for-every-lane',
    promise: whoever,
    file: 'src/relay/supervision.ts',
    find: '(this.#outage !== undefined && this.#asking > 0)',
    replace: 'false',
    test,
    title:
      'an engine that does not answer delays one message by a second and is asked by one request at a time',
  },
  {
    name: 'outage-reported-again-and-again',
    promise: whoever,
    file: 'src/relay/supervision.ts',
    find: 'if (this.#outage === undefined) {',
    replace: '{',
    test: 'test/unit/relay/supervision.test.ts',
    title: 'an engine that refuses for five seconds is reported once',
  },
  {
    name: 'slow-start-reported-as-an-outage',
    promise: whoever,
    file: 'src/relay/supervision.ts',
    find: 'const reportedAfterMs = 5_000;',
    replace: 'const reportedAfterMs = 500;',
    test: 'test/unit/relay/supervision.test.ts',
    title: 'an engine that is slow or refuses now and then, or as the relay stops, is never reported',
  },
  {
    name: 'stand-ins-left-at-a-stop',
    promise: whoever,
    file: 'src/relay/stand-ins.ts',
    find: 'await Promise.all([...this.#running.values()].map(({ done }) => done));',
    replace: '',
    test,
    title: 'a stop ends a stand-in: the batch in hand is settled and the lane is free',
  },
  {
    name: 'begun-before-the-first-batch',
    promise: whoever,
    file: 'src/relay/relay.ts',
    find: 'await this.#standIns.begun();',
    replace: '',
    test,
    title: 'a relay without a workflow engine drains existing messages and is supervised later',
  },
];
