import type { RelayStatus, ServerView } from './relays.ts';

/** A server that relays need, as running relays see it. */
export interface ServerStatus extends Pick<ServerView, 'server' | 'address'> {
  /** Number of living relays that need it, 1 or more. */
  readonly relays: number;
  /** Number of these relays that it answers. */
  readonly answering: number;
  /** The error of one of the others; `null`: it answers all. */
  readonly error: string | null;
  /** Which addresses it lacks, as one of these relays says; `null`: none. */
  readonly lacks: string | null;
}

/** What living relays report about their servers, by server. */
export function serversOf(living: readonly RelayStatus[]): readonly ServerStatus[] {
  const views = new Map<string, ServerView[]>();
  for (const view of living.flatMap(({ servers }) => servers)) {
    const name = `${view.server} ${view.address}`;
    views.set(name, [...(views.get(name) ?? []), view]);
  }
  return [...views.values()].flatMap((seen) => {
    const [first] = seen;
    if (first === undefined) return [];
    const { server, address } = first;
    const failed = seen.filter(({ error }) => error !== null);
    const answering = seen.length - failed.length;
    const lacks = seen.flatMap((view) => view.lacks ?? [])[0] ?? null;
    return [{ server, address, relays: seen.length, answering, error: failed[0]?.error ?? null, lacks }];
  });
}
