import { commandLine } from './commands.ts';
import { grownBeyond } from './prometheus-condition.ts';
import type { RunbookEntry } from './runbook-entry.ts';

/** A rule of Prometheus alone. */
interface PrometheusOnly {
  readonly severity: 'critical' | 'warning';
  /** PromQL. */
  readonly expr: string;
  readonly for: string;
  readonly summary: string;
  readonly run: string;
  readonly runbook: RunbookEntry;
}

/** What relays cannot tell themselves, by the names in Prometheus. */
export const prometheusOnly = {
  OutboxNoRelay: {
    severity: 'critical',
    // Who reported within the last day and does so no more; without anybody, also nobody at all.
    expr: '(max by (job) (last_over_time(outbox_relays[1d])) unless max by (job) (outbox_relays)) or (absent(outbox_relays) unless on () max by (job) (last_over_time(outbox_relays[1d])))',
    for: '2m',
    summary:
      'No relay of {{ $labels.job }} reports: none runs, or PostgreSQL is away, and nothing is delivered.',
    run: commandLine.status,
    runbook: {
      means:
        'No relay has reported its figures for two minutes. Nothing is delivered. What services store is kept, and goes out when a relay runs.',
      causes: [
        {
          seen: 'the command ends with code 3: PostgreSQL is away',
          todo: 'Restore PostgreSQL. Relays wait for it, and continue by themselves.',
        },
        {
          seen: '`none is running`',
          todo: 'Start the relays, and read the last lines of their logs: what they ended with is an error with its next step.',
        },
        {
          seen: 'relays run, and are seen',
          todo: 'Prometheus does not reach their port for metrics (`--metrics`): check the target there.',
        },
      ],
      avoid:
        'restore or fail over PostgreSQL only because of this alert: a copy needs `temporal-outbox migrate --adopt`.',
    },
  },
  OutboxOneRelay: {
    severity: 'warning',
    expr: 'max by (job) (outbox_relays) < 2',
    for: '10m',
    summary: 'Only one relay runs: if it ends, nothing is delivered.',
    run: commandLine.status,
    runbook: {
      means: 'Only one relay runs. Everything is delivered, but if it ends, nothing is.',
      causes: [
        {
          seen: 'a relay is shown as gone',
          todo: 'Look at its host, and at the last lines of its log. Start it.',
        },
        { seen: 'only one was ever started', todo: 'Start a second one, on another host.' },
      ],
      avoid: 'restart the one that runs.',
    },
  },
  OutboxMessagesExpired: {
    severity: 'warning',
    expr: grownBeyond('outbox_messages_expired_total', 0),
    for: '0m',
    summary: 'Messages have expired: they will never be sent.',
    run: 'temporal-outbox list --state expired',
    runbook: {
      means:
        'Messages were not published before their `expiresAt`. They will never be sent; their rows say `expired`.',
      causes: [
        {
          seen: 'many of one time',
          todo: 'Delivery stood for longer than their life: look for the alert of that time, such as [hold](#hold) or [oldestDue](#oldestdue).',
        },
        {
          seen: 'a few all the time',
          todo: 'Their time is shorter than their delay or their retries: have their sender give them more.',
        },
      ],
      avoid: 'send them again blindly: who set the time wanted them not to come late.',
    },
  },
  OutboxLanesTakenOver: {
    severity: 'warning',
    expr: grownBeyond('outbox_lane_takeovers_total', 10),
    for: '0m',
    summary: 'Lanes were taken over {{ $value }} times in 15 minutes: relays freeze, or end too often.',
    run: commandLine.status,
    runbook: {
      means:
        'Relays take lanes from relays that have died or frozen, again and again. Each time up to a batch of a lane is sent twice; consumers drop it.',
      causes: [
        {
          seen: 'relays are gone, and new ones run',
          todo: 'They are killed: look for a limit of memory, and for failing probes.',
        },
        {
          seen: 'no relay is gone',
          todo: 'They freeze for ten seconds or more: look for a limit of CPU, a host without memory, or a paused virtual machine.',
        },
      ],
      avoid: 'add relays to the same overloaded hosts.',
    },
  },
} satisfies Readonly<Record<string, PrometheusOnly>>;
