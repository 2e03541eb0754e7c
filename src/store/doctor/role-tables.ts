/** The tables and views of the schema `outbox` that a role needs, as `deploy/roles.sql` grants them. */
export interface RoleTables {
  /** To select from only. */
  readonly read: readonly string[];
  /** To select from, and to insert, update and delete. */
  readonly write: readonly string[];
}

/** Of a role that sends, cancels, reschedules and schedules. */
export const senderTables: RoleTables = {
  read: [
    'migration',
    'installation',
    'topic',
    'leaf',
    'lane',
    'batch',
    'log',
    'log_passed',
    'log_history',
    'message_history',
    'message_view',
    'message_all',
  ],
  write: ['message', 'schedule'],
};

/** Of a role that consumes. */
export const consumerTables: RoleTables = {
  read: ['migration', 'installation', 'lane', 'audit', 'bulk_operation', 'processed_epoch'],
  write: [
    'consumer_group',
    'consumer',
    'processed',
    'parked_key',
    'parked',
    'mark',
    'breaker',
    'letter_turn',
  ],
};
