import { isObject, listOf } from '../../core/options/collections.ts';
import { readOption } from '../../core/options/option-table.ts';
import { shaped } from '../../core/options/values.ts';
import type { Authentication, Caller } from '../authentication.ts';

const authenticationsReader = listOf(
  shaped(
    'what proves who makes a request',
    (given): given is Authentication => isObject(given) && typeof Reflect.get(given, 'caller') === 'function',
  ),
  'at least one way to prove who makes a request',
  { least: 1 },
);

/**
 * Proves a caller by the first of several ways that proves one, such as a token for programs and a sign-in for people. While one of
 * them cannot decide, the others still may; if none proves anybody then, that is not known, rather than answered with no.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function anyOf(...authentications: readonly Authentication[]): Authentication {
  const ways = readOption('anyOf()', 'authentications', authenticationsReader, authentications);
  const challenge = ways.flatMap((way) => way.challenge ?? []).join(', ');
  return {
    ...(challenge !== '' && { challenge }),
    async caller(request) {
      const failures: unknown[] = [];
      for (const way of ways) {
        const caller = await provedBy(way, request, failures);
        if (caller !== undefined) return caller;
      }
      if (failures.length > 0) throw failures[0];
      return undefined;
    },
    async handle(request) {
      for (const way of ways) {
        const response = await way.handle?.(request);
        if (response !== undefined) return response;
      }
      return undefined;
    },
    async close() {
      await Promise.all(ways.map(async (way) => way.close?.()));
    },
  };
}

async function provedBy(
  way: Authentication,
  request: Request,
  failures: unknown[],
): Promise<Caller | undefined> {
  try {
    return await way.caller(request);
  } catch (error) {
    failures.push(error);
    return undefined;
  }
}
