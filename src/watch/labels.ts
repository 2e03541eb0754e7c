/** What tells the values of one figure apart. Never a key, a ref or an id: their number is not bounded. */
export type Label = 'topic' | 'group' | 'address' | 'host' | 'server' | 'state' | 'whose';

/** What a value is of; without any, it is of the whole installation. */
export type Labels = Readonly<Partial<Record<Label, string>>>;

/** The same as people read it, such as `group billing of orders`. Alerts are told apart by it. */
export function subjectOf({ address = '', group, host, server, topic, whose }: Labels): string {
  if (whose !== undefined) return `${server} (${whose})`;
  if (server !== undefined) return `${server} ${address}`.trimEnd();
  if (host !== undefined) return `host ${host}`;
  if (group === undefined) return topic === undefined ? '' : `topic ${topic}`;
  if (topic !== undefined) return `group ${group} of ${topic}`;
  return address === '' ? `group ${group}` : `group ${group} at ${address}`;
}
