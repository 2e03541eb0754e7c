/** The header with the key of a message, which AMQP has no property for. Absent if there is no key. */
export const keyHeader = 'outbox-key';
