import { alertRuleNames } from '../app/operations/operations.ts';

/** A command line without its first word, and what it is for. */
type Example = readonly [line: string, purpose: string];

/** What stands below the options of a command. */
export interface CommandHelp {
  readonly examples: readonly Example[];
  readonly notes?: readonly string[];
}

const times =
  'Times: 2026-11-27T08:14Z; without Z in the zone of this machine; a date alone is midnight in UTC.';
const ago = `${times}\nA duration such as 2h is a time before now for --created-…, and after now for --due-….`;
const many =
  'With ids, or --topic and --ref, the answer is complete. Another filter starts a bulk operation:';
const bulk = `${many}\nit needs --reason; relays carry it out, and "bulk show <id> --wait" follows it.`;
const kept = `With ids the answer is complete. A filter starts a bulk operation:\nit needs --reason; consumers carry it out, and "bulk show <id> --wait" follows it.`;
const discarding =
  'The group passes it over without an effect, and goes on with the next message of its key.';

const gone = 'What brokers, consumers, copies and backups have stays. Only ended messages are expunged.';

/** Help by the name of the command, with that of its parent. */
export const helpExamples: Readonly<Record<string, CommandHelp>> = {
  list: {
    examples: [
      ['list --topic invoice --state failed', 'what waits for a person'],
      ['list --ref order-4711', 'the messages of one order; key and ref match whole'],
      ['list --state waiting --due-to 2h', 'what is due within two hours'],
      ['list --created-from 30m --json', 'of the last half hour: .messages[].id in JSON'],
    ],
    notes: [ago],
  },
  tail: {
    examples: [
      ['tail --topic invoice', 'each new message and each change of state'],
      ['tail --state failed,retrying --json', 'one JSON object a line'],
    ],
    notes: [ago],
  },
  show: {
    examples: [
      [`show <id>`, 'its state and why, tries, timeline'],
      [`show <id> --payload --json`, '.message.payload is its text'],
    ],
  },
  status: {
    examples: [
      ['status', 'servers, lanes, groups'],
      [`status --fail-if 'failed > 0' --fail-if 'oldest > 1 minute'`, 'for a monitor'],
    ],
  },
  cancel: {
    examples: [
      [`cancel <id> --dry-run`, ''],
      ['cancel --topic reminder --ref order-4711 --yes', 'the one of this ref'],
      ['cancel --topic reminder --state waiting --dry-run', 'how many match'],
    ],
    notes: [bulk, 'A ready message is about to be published: see withdraw.', ago],
  },
  reschedule: {
    examples: [
      [`reschedule <id> --after 15m --yes`, ''],
      [`reschedule <id> --at 2026-12-24T18:00Z --yes`, ''],
      ['reschedule --topic reminder --shift 1h --reason outage --dry-run', ''],
    ],
    notes: [bulk, ago],
  },
  retry: {
    examples: [
      [`retry <id> --yes`, ''],
      ['retry --topic invoice --state failed --dry-run', 'how many match'],
      ['retry --topic invoice --state failed --reason fixed --yes --wait', ''],
    ],
    notes: [bulk, 'To send a delivered message again: replay.', ago],
  },
  discard: {
    examples: [[`discard <id> --reason obsolete --yes`, '']],
    notes: [bulk, ago],
  },
  expunge: { examples: [[`expunge <id> --reason 'request 17' --yes`, '']], notes: [gone] },
  withdraw: {
    examples: [
      [`withdraw <id> --yes`, ''],
      ['withdraw --topic reminder --ref order-4711 --yes', 'the one of this ref'],
    ],
  },
  replay: {
    examples: [
      ['replay --topic invoice --created-from 2h --dry-run', 'how many match'],
      [`replay --topic invoice --id <id> --reason lost`, ''],
    ],
    notes: [ago],
  },
  edit: {
    examples: [
      [`edit <id> --payload-file fixed.json --dry-run`, 'checked against the schema of the topic'],
      [`edit <id> --payload-file fixed.json --yes`, ''],
    ],
    notes: [`"show <id> --payload --json | jq -r .message.payload" writes the present payload.`],
  },
  pause: {
    examples: [
      ['pause invoice --reason outage --yes', ''],
      ['pause --transport kafka --yes', ''],
    ],
  },
  resume: { examples: [['resume invoice --yes', '']] },
  bulk: {
    examples: [
      ['retry --topic invoice --state failed --reason fixed --yes', 'starts one'],
      ['bulk list', ''],
    ],
  },
  inbox: {
    examples: [
      ['inbox list --group billing --head', 'why a group stands still'],
      [`inbox discard <id> --group billing --yes`, 'passes a parked message over'],
    ],
  },
  'inbox show': { examples: [[`inbox show <id> --group billing --payload`, '']] },
  'inbox retry': {
    examples: [
      [`inbox retry <id> --group billing --yes`, ''],
      ['inbox retry --group billing --state failed --reason fixed --yes', ''],
    ],
    notes: [kept, 'Of a parked key only its first message can be retried; the others follow it.'],
  },
  'inbox edit': { examples: [[`inbox edit <id> --group billing --payload-file fixed.json --yes`, '']] },
  'inbox discard': {
    examples: [
      [`inbox discard <id> --group billing --yes`, ''],
      ['inbox discard --group billing --key customer-7 --dry-run', 'how many match'],
    ],
    notes: [discarding, kept],
  },
  'inbox expunge': {
    examples: [[`inbox expunge <id> --group billing --reason 'request 17' --yes`, '']],
    notes: [gone],
  },
  'inbox rewind': {
    examples: [
      ['inbox rewind --group billing --to 2026-11-28T13:30Z --dry-run', 'how many would be delivered again'],
      [
        'inbox rewind --group billing --to 2026-11-28T13:30Z --yes',
        'after a restore, with all its consumers stopped',
      ],
    ],
    notes: ['Never forward. The inbox drops what the group has handled, within its window.', times],
  },
  'alerts silence': {
    examples: [
      [`alerts silence ${alertRuleNames[0]} --for 2h --reason outage --yes`, ''],
      [`alerts silence ${alertRuleNames[0]} --for 0 --yes`, 'ends it'],
    ],
    notes: [`Rules:\n  ${alertRuleNames.join('\n  ')}`],
  },
  api: {
    examples: [['api --without-sign-in', 'then: curl localhost:7676/messages?states=failed']],
    notes: [
      'A change needs Content-Type: application/json and, without a token, Origin with this address.',
      'GET /openapi.json describes every request.',
    ],
  },
};
