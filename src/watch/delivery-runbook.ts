import { endSession } from '../core/end-session.ts';
import type { RunbookEntry } from './runbook-entry.ts';

/** Of messages on their way to the broker. */
export const deliveryRunbook = {
  oldestDue: {
    means:
      'Messages of the topic are due and not published. They are kept, and go out in their order once the cause is gone.',
    causes: [
      { seen: 'its lanes are on hold', todo: 'See [hold](#hold).' },
      {
        seen: '`locked by pid …`',
        todo: `Find out what that transaction is, then end it: ${endSession}.`,
      },
      { seen: 'it is paused', todo: '`temporal-outbox resume <topic>`, if who paused it agrees.' },
      { seen: '`no relay runs`', todo: 'Start the relays, and read the end of their logs.' },
      {
        seen: 'it waits for the rate of its topic, or for nothing, and the oldest gets older',
        todo: 'More is sent than delivered: raise `rate`, or add relays, then lanes.',
      },
      { seen: 'no relay delivers the topic', todo: 'See [unannounced](#unannounced).' },
    ],
    avoid: 'change rows by hand or restart all relays at once: that cures none of this.',
  },
  unannounced: {
    means:
      'Messages are due of a topic that no running relay has in its configuration. They wait until one has.',
    causes: [
      {
        seen: 'a service with a new topic was deployed before the relays',
        todo: 'Add it to `topics` of their configuration, and restart them one by one.',
      },
      {
        seen: 'relays were deployed without the topic',
        todo: 'Deploy the previous configuration again.',
      },
      {
        seen: 'its name is misspelt',
        todo: 'Correct the service, and `temporal-outbox withdraw --topic <name> --dry-run`; then without the dry run.',
      },
    ],
    avoid: 'withdraw anything before you know whose topic it is.',
  },
  successRate: {
    means:
      'Many tries to publish fail. Each message is tried again as often as its topic says, and fails for good after that.',
    causes: [
      {
        seen: 'one topic, one error',
        todo: 'Its receiver or broker refuses: fix what the error names, before the messages have used up their tries.',
      },
      {
        seen: 'after a deployment',
        todo: 'Roll back the sender or the receiver, whichever was deployed.',
      },
      {
        seen: 'the cause takes longer',
        todo: '`temporal-outbox pause <topic>`: what is paused spends no try.',
      },
    ],
    avoid: 'retry while the cause is there: that spends tries.',
  },
  lateness: {
    means:
      'A delayed message, or the next try of one, has come due, and nobody has released it. It is late, not lost.',
    causes: [
      { seen: 'no relay runs', todo: 'Start the relays.' },
      {
        seen: 'a transaction locks rows, or has been open for minutes',
        todo: 'End it: the finding has its process, and the command.',
      },
      {
        seen: 'Temporal is away',
        todo: 'Relays release by themselves meanwhile: look for another cause as well.',
      },
      {
        seen: 'far more come due at once than usual',
        todo: "Wait; if that repeats, spread their times, or set `timer: 'lane'` for their topic.",
      },
    ],
    avoid: 'send these messages a second time: they will come.',
  },
  failed: {
    means:
      'Messages have used up their tries, or can never succeed. Nothing happens to them until a person decides; they may block later ones of their keys.',
    causes: [
      {
        seen: 'the broker, the receiver or a handler was at fault',
        todo: 'Fix it, then `temporal-outbox retry --topic <name> --state failed --dry-run`, and again with `--expect <count> --wait`; for a group `temporal-outbox inbox retry --group <name> --state failed`.',
      },
      {
        seen: 'the message is at fault',
        todo: '`temporal-outbox edit <id> --payload-file <file>`, for a group `temporal-outbox inbox edit`.',
      },
      {
        seen: 'nobody needs it any more',
        todo: '`temporal-outbox discard <id>`, for a group `temporal-outbox inbox discard`.',
      },
    ],
    avoid:
      'discard only to end the alert: that is for good. `temporal-outbox alerts silence failed --for 2h` is not.',
  },
  hold: {
    means:
      'A broker, an address or a topic there cannot be used, so its lanes wait. No try is spent; they continue a second after it is back.',
    causes: [
      { seen: '`ECONNREFUSED`, no answer', todo: 'Restore the broker. There is nothing else to do.' },
      {
        seen: '`It has no topic …`',
        todo: 'Create the topic; `temporal-outbox doctor` has the command. If somebody deleted it, ask who before you go on.',
      },
      {
        seen: 'password, certificate, right',
        todo: 'Fix what the reason names: the account, its ACL, the file.',
      },
      { seen: 'too few replicas in sync', todo: 'Restore the brokers that are gone.' },
    ],
    avoid: 'lower `min.insync.replicas` or the acknowledgements: a message could be lost.',
  },
  receipts: {
    means:
      'Messages are published, and the receipt of their group is late. They are sent again up to `maxSends` times, then they fail.',
    causes: [
      {
        seen: 'no consumer of the group runs, or it is behind',
        todo: 'See [noConsumer](#noconsumer) and [lag](#lag).',
      },
      {
        seen: 'the group has passed them: `temporal-outbox show <id>`',
        todo: 'Its consumer does not confirm: it needs the right to write `outbox-receipts`, and this library.',
      },
    ],
    avoid: 'delete the topic `outbox-receipts`: what it holds confirms.',
  },
  archive: {
    means:
      'Finished messages do not move to the history. Nothing is late, but the tables grow until the disk is full.',
    causes: [
      {
        seen: 'an old transaction, a prepared one, a slot',
        todo: 'End or drop it: the finding has the command.',
      },
      { seen: 'Temporal is away, or no relay runs', todo: 'Restore it: the archive is a schedule there.' },
      {
        seen: 'none of these, and many messages are finished',
        todo: 'More is sent beside the log than it moves: [how to scale](performance.md#how-to-scale-it).',
      },
    ],
    avoid: 'delete rows or tables of the schema `outbox` to gain space.',
  },
} satisfies Readonly<Record<string, RunbookEntry>>;
