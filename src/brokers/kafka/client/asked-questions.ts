import type { Kafka } from 'kafkajs';
import { textOf } from '../../../core/reason.ts';
import { eachConnection, memberOf, setMember } from './client-internals.ts';

/** Answered when the other members of the group have come, which may take as long as a rebalance. */
const answeredLater: ReadonlySet<unknown> = new Set([11, 14]);

/**
 * Shows each request of a client that a broker answers at once, or after the short wait of a fetch, with the address of that
 * broker and the promise of its answer.
 */
export function showQuestions(kafka: Kafka, asked: (broker: string, answer: Promise<unknown>) => void): void {
  eachConnection(kafka, (connection) => {
    const send = memberOf(connection, 'send');
    if (typeof send !== 'function') return;
    setMember(connection, 'send', (given: unknown): unknown => {
      const answer: unknown = Reflect.apply(send, connection, [given]);
      const later = answeredLater.has(memberOf(memberOf(given, 'request'), 'apiKey'));
      if (answer instanceof Promise && !later) asked(textOf(memberOf(connection, 'broker')), answer);
      return answer;
    });
  });
}
