import { OutboxError } from '../core/errors.ts';

/**
 * An environment variable as a setting. It is read when the setting is needed, so a configuration file can be imported where
 * the variable is not set. Call the returned function for the value itself.
 *
 * @param fallback used if the variable is not set, or empty
 * @returns a function that throws OutboxError `OUTBOX_CONFIG_MISSING` if the variable is not set and there is no fallback
 * @example
 * kafka({ servers: env('KAFKA_BROKERS', 'localhost:9092') })
 */
export function env(name: string, fallback?: string): () => string {
  return () => {
    const value = environment(name) ?? fallback;
    if (value !== undefined) return value;
    throw new OutboxError('OUTBOX_CONFIG_MISSING', `The environment variable ${name} is not set.`, {
      details: { name },
    });
  };
}

/** The value of an environment variable; `undefined` if it is not set, or empty. */
export function environment(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}
