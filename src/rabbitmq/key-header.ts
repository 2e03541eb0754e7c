/** The header in which a message's key travels: AMQP has no such thing. Absent where there is no key. */
export const keyHeader = 'outbox-key';
