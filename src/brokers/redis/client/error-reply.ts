import { redisClient } from './redis-package.ts';

/** The text of the server's error reply; `undefined` for errors of the connection or of this process. */
export function refusalOf(error: unknown): string | undefined {
  return error instanceof redisClient().ErrorReply ? error.message : undefined;
}

/** For `catch`: returns this value on an error reply of the server, and rethrows everything else. */
export function ifRefused<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (refusalOf(error) === undefined) throw error;
    return value;
  };
}
