import { OutboxError } from '../core/errors.ts';
import { Refused } from './input.ts';

/** A route: its method, and its path with parameters as `{id}`. */
export interface MethodRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
}

/** A request whose path exists, but not with its method. `allow` is the value of the header `Allow`. */
export class MethodRefused extends Refused {
  readonly allow: string;

  constructor(allow: readonly string[]) {
    super(
      405,
      new OutboxError('OUTBOX_REQUEST_INVALID', `This path takes ${allow.join(' and ')} only.`, {
        details: { allow },
      }),
    );
    this.allow = allow.join(', ');
  }
}

/**
 * Makes the check of methods. `HEAD` is answered wherever `GET` is. `OPTIONS` is a method like any other: there is no CORS.
 *
 * @returns for a path without the base path; throws MethodRefused, and nothing for a path that does not exist
 */
export function methodCheck(routes: readonly MethodRoute[]): (method: string, path: string) => void {
  const patterns = routes.map((route) => ({ ...route, pattern: patternOf(route.path) }));
  return (method, path) => {
    const fitting = patterns.filter(({ pattern }) => pattern.test(path));
    // No id is a word such as "retry" in "/messages/retry".
    const own = fitting.filter((route) => route.path === path);
    const allow = [
      ...new Set((own.length > 0 ? own : fitting).flatMap((route) => methodsOf(route.method))),
    ].toSorted();
    if (allow.length > 0 && !allow.includes(method)) throw new MethodRefused(allow);
  };
}

function methodsOf(method: MethodRoute['method']): readonly string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
