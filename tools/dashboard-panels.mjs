/** What is wrong now, in a row: a number each, red from or below a bound, or beyond the threshold of a rule. */
export const numbers = [
  { title: 'Relays', red: { below: 1 }, unit: 'short', show: [['max(outbox_relays) or vector(0)', '']] },
  {
    title: 'Servers away',
    red: { from: 1 },
    unit: 'short',
    show: [['count(min by (server) (outbox_server_up) < 1) or vector(0)', '']],
  },
  {
    title: 'Oldest due message',
    red: { rule: 'oldestDue' },
    unit: 's',
    show: [['max(outbox_oldest_due_age_seconds or outbox_unannounced_age_seconds)', '']],
  },
  {
    title: 'Failed messages',
    red: { from: 1 },
    unit: 'short',
    show: [['sum(max by (state, topic) (outbox_messages{state="failed"})) or vector(0)', '']],
  },
  {
    title: 'Failed at groups',
    red: { from: 1 },
    unit: 'short',
    show: [['sum(max by (group) (outbox_parked_failed)) or vector(0)', '']],
  },
  {
    title: 'Longest pause of an address',
    red: { rule: 'pausedAddress' },
    unit: 's',
    show: [['max(outbox_group_paused_age_seconds)', '']],
  },
];

/** What happens over time, three in a row; a metric that none of them shows gets one of its own. `[*]`: the interval of the panel. */
export const panels = [
  {
    title: 'Oldest due message',
    unit: 's',
    show: [
      ['max by (topic) (outbox_oldest_due_age_seconds)', '{{topic}}'],
      ['max by (topic) (outbox_unannounced_age_seconds)', '{{topic}}, which no relay delivers'],
      ['max(outbox_unreleased_age_seconds)', 'released late'],
    ],
  },
  {
    title: 'Messages by state',
    unit: 'short',
    show: [['sum by (state) (max by (state, topic) (outbox_messages))', '{{state}}']],
  },
  {
    title: 'Sent per second',
    unit: 'ops',
    show: [
      [
        'sum by (messaging_destination_name) (rate(messaging_client_sent_messages_total[*]))',
        '{{messaging_destination_name}}',
      ],
    ],
  },
  {
    title: 'Commit to publish',
    unit: 's',
    show: [
      ['histogram_quantile(0.5, sum by (le) (rate(outbox_publish_delay_seconds_bucket[*])))', 'half'],
      ['histogram_quantile(0.99, sum by (le) (rate(outbox_publish_delay_seconds_bucket[*])))', '99 %'],
    ],
  },
  {
    title: 'Commit to effect',
    unit: 's',
    show: [
      ['histogram_quantile(0.5, sum by (le) (rate(outbox_effect_delay_seconds_bucket[*])))', 'half'],
      ['histogram_quantile(0.99, sum by (le) (rate(outbox_effect_delay_seconds_bucket[*])))', '99 %'],
    ],
  },
  {
    title: 'Lateness of delayed messages',
    unit: 's',
    show: [['histogram_quantile(0.99, sum by (le) (rate(outbox_lateness_seconds_bucket[*])))', '99 %']],
  },
  {
    title: 'Duration of sends to the broker',
    unit: 's',
    show: [
      [
        'histogram_quantile(0.99, sum by (le) (rate(messaging_client_operation_duration_seconds_bucket[*])))',
        '99 %',
      ],
    ],
  },
  {
    title: 'Failed attempts, failed and expired messages per second',
    unit: 'ops',
    show: [
      ['sum(rate(outbox_attempts_failed_total[*]))', 'attempts'],
      ['sum(rate(outbox_messages_failed_total[*]))', 'failed'],
      ['sum(rate(outbox_messages_expired_total[*]))', 'expired'],
    ],
  },
  {
    title: 'Holds',
    unit: 'short',
    show: [
      ['sum(outbox_holds)', 'holds'],
      ['sum(increase(outbox_hold_duration_seconds_sum[*]))', 'seconds'],
    ],
  },
  {
    title: 'Servers as relays see them',
    unit: 'short',
    show: [['min by (server) (outbox_server_up)', '{{server}}']],
  },
  {
    title: 'Relays and lanes',
    unit: 'short',
    show: [
      ['max(outbox_relays)', 'relays'],
      ['sum(outbox_lanes_owned)', 'lanes owned'],
      ['sum(increase(outbox_lane_takeovers_total[*]))', 'takeovers'],
    ],
  },
  {
    title: 'Connections in use',
    unit: 'short',
    show: [['sum by (instance) (outbox_pool_connections_in_use)', '{{instance}}']],
  },
  {
    title: 'Lag of groups',
    unit: 'short',
    show: [['max by (group, topic) (outbox_group_lag_messages)', '{{group}} {{topic}}']],
  },
  {
    title: 'Handled per second',
    unit: 'ops',
    show: [
      [
        'sum by (messaging_consumer_group_name) (rate(messaging_client_consumed_messages_total[*]))',
        '{{messaging_consumer_group_name}}',
      ],
    ],
  },
  {
    title: 'Duration of handlers',
    unit: 's',
    show: [
      [
        'histogram_quantile(0.99, sum by (le, messaging_consumer_group_name) (rate(messaging_process_duration_seconds_bucket[*])))',
        '{{messaging_consumer_group_name}}',
      ],
    ],
  },
  {
    title: 'Parked',
    unit: 'short',
    show: [
      ['max by (group) (outbox_parked_messages)', '{{group}} messages'],
      ['max by (group) (outbox_parked_keys)', '{{group}} keys'],
      ['max by (group) (outbox_parked_failed)', '{{group}} failed'],
    ],
  },
  {
    title: 'Oldest parked message',
    unit: 's',
    show: [['max by (group) (outbox_parked_oldest_age_seconds)', '{{group}}']],
  },
  {
    title: 'Tries of handlers, parked messages and dropped duplicates per second',
    unit: 'ops',
    show: [
      ['sum(rate(outbox_parked_total[*]))', 'parked'],
      ['sum(rate(outbox_duplicates_dropped_total[*]))', 'duplicates'],
      ['sum(rate(outbox_handler_tries_total[*]))', 'tries of handlers'],
      ['sum(rate(outbox_handler_failures_total[*]))', 'failed tries'],
    ],
  },
  {
    title: 'Receipts',
    unit: 'short',
    show: [
      ['sum(rate(outbox_receipts_total[*]))', 'per second'],
      ['sum(max by (topic) (outbox_receipts_overdue))', 'overdue'],
    ],
  },
  { title: 'Archive behind', unit: 's', show: [['max(outbox_archive_behind_seconds)', 'behind']] },
  {
    title: 'Clock offset and repairs',
    unit: 'short',
    show: [
      ['max(abs(outbox_clock_offset_seconds))', 'offset in s'],
      ['sum(increase(outbox_reconciled_total[*]))', 'repaired'],
    ],
  },
  {
    title: 'Stored messages',
    unit: 'ops',
    show: [
      [
        'sum by (messaging_destination_name) (rate(outbox_messages_stored_total[*]))',
        '{{messaging_destination_name}}',
      ],
    ],
  },
  {
    title: 'Failures that relays try again',
    unit: 'ops',
    show: [['sum by (during, error_type) (rate(outbox_troubles_total[*]))', '{{during}}: {{error_type}}']],
  },
  {
    title: 'Until a certificate expires',
    unit: 's',
    show: [['min by (server, whose) (outbox_certificate_left_seconds)', '{{server}} ({{whose}})']],
  },
  {
    title: 'Consumers of groups',
    unit: 'short',
    show: [['max by (group) (outbox_group_consumers)', '{{group}}']],
  },
  {
    title: 'Longest pause of an address by group',
    unit: 's',
    show: [['max by (group) (outbox_group_paused_age_seconds)', '{{group}}']],
  },
  {
    title: 'Why attempts fail',
    unit: 'ops',
    show: [
      [
        'sum by (messaging_destination_name, error_type) (rate(outbox_attempts_failed_total[*]))',
        '{{messaging_destination_name}}: {{error_type}}',
      ],
      [
        'sum by (messaging_destination_name, error_type) (rate(outbox_messages_failed_total[*]))',
        'for good, {{messaging_destination_name}}: {{error_type}}',
      ],
    ],
  },
  {
    title: 'Why handlers fail',
    unit: 'ops',
    show: [
      [
        'sum by (messaging_consumer_group_name, error_type) (rate(outbox_handler_failures_total[*]))',
        '{{messaging_consumer_group_name}}: {{error_type}}',
      ],
    ],
  },
  {
    title: 'Holds by topic',
    unit: 'short',
    show: [['sum by (messaging_destination_name) (outbox_holds)', '{{messaging_destination_name}}']],
  },
];
