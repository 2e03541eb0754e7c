/** An ordered part of one topic. */
export interface Lane {
  /** Name of the topic. */
  readonly topic: string;
  /** Its number: from 0 to below the topic's number of lanes. */
  readonly lane: number;
}

/** Maximum number of lanes of a topic. */
export const maxLanes = 1_024;

/** A lane as text, for maps and logs. */
export function laneName({ topic, lane }: Lane): string {
  return `${topic}/${lane}`;
}
