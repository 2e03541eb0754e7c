import { redisClient } from './redis-package.ts';

/** What the server said in place of an answer; `undefined` for errors of a connection, or of this process. */
export function refusalOf(error: unknown): string | undefined {
  return error instanceof redisClient().ErrorReply ? error.message : undefined;
}

/** For `catch`: takes this value where the server refuses, and throws everything else. */
export function ifRefused<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (refusalOf(error) === undefined) throw error;
    return value;
  };
}
