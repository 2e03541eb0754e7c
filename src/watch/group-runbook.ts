import type { RunbookEntry } from './runbook-entry.ts';

/** Of consumers and their groups. */
export const groupRunbook = {
  parked: {
    means:
      'A message has failed in its handler, and is tried again since then. All later ones of its key wait behind it; other keys go on.',
    causes: [
      {
        seen: 'one message, with its error',
        todo: 'Fix handler or data, then `temporal-outbox inbox retry <id> --group <name>`. The others of its key follow in order.',
      },
      {
        seen: 'many with the same error',
        todo: 'A dependency of the handlers, or the last deployment: restore it or roll back. They are tried again by themselves.',
      },
      {
        seen: 'failed ones',
        todo: 'Their keys wait for a person: see [failed](#failed).',
      },
    ],
    avoid: 'discard it unless the later messages make sense without it.',
  },
  lag: {
    means:
      'The group has not read so many published messages. They are late; none is lost within the retention of the broker.',
    causes: [
      { seen: 'it has no consumer', todo: 'See [noConsumer](#noconsumer).' },
      { seen: 'one of its addresses is paused', todo: 'See [pausedAddress](#pausedaddress).' },
      {
        seen: 'it falls',
        todo: 'Wait. After a replay or a rewind: `temporal-outbox alerts silence lag --for 2h`.',
      },
      {
        seen: 'it rises',
        todo: 'Start consumers, up to the number of partitions; then make handlers faster, or let them take batches.',
      },
    ],
    avoid: 'set offsets to the end: what is skipped has no effect, for good.',
  },
  noConsumer: {
    means: 'No consumer of the group runs, and messages wait for it: none of them has an effect.',
    causes: [
      {
        seen: 'its processes have ended',
        todo: 'Read the end of their logs, and start them. After a deployment: roll back.',
      },
      {
        seen: 'its processes run',
        todo: 'They wait for a server, mostly this database: their logs say for which.',
      },
      {
        seen: 'the group is not used any more',
        todo: 'Delete it at the broker; `temporal-outbox groups` shows those that brokers keep.',
      },
    ],
    avoid: 'start it under another name: a new group begins elsewhere.',
  },
  pausedAddress: {
    means:
      'Most keys of the address fail, so a consumer has stopped reading it. No try is spent. It probes with single messages, and goes on at the first success.',
    causes: [
      {
        seen: 'the error names a host or a refused connection',
        todo: 'Restore that dependency. There is nothing else to do.',
      },
      { seen: 'an error of code since a deployment', todo: 'Roll back the consumer.' },
    ],
    avoid: 'restart consumers again and again or raise `breaker.keys`: messages would be parked instead.',
  },
  stalledGroup: {
    means: 'The group stands at one message of a partition, and others wait behind it.',
    causes: [
      { seen: 'it has no consumer', todo: 'See [noConsumer](#noconsumer).' },
      { seen: 'one of its addresses is paused', todo: 'See [pausedAddress](#pausedaddress).' },
      {
        seen: '`OUTBOX_HANDLER_STUCK` in the log of its consumer',
        todo: 'A handler waits without a limit of time: end what it waits for, or restart that consumer.',
      },
      {
        seen: '`partition-paused` in that log',
        todo: 'A message can neither be handled nor kept: check the database of the consumer, and keys with long queues: `temporal-outbox inbox list`.',
      },
      {
        seen: 'a group of another program',
        todo: 'Its owners must look: nothing here can move it.',
      },
    ],
    avoid: 'move its offset past the message: that skips it for good.',
  },
} satisfies Readonly<Record<string, RunbookEntry>>;
