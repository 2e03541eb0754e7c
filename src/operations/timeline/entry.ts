/** One thing that happened to a message, will happen, or is not known to have happened. */
export interface TimelineEntry {
  /** When, on the clock of the database that has recorded it; `null`: only its place in the order is known. */
  readonly at: Date | null;
  /** For programs. */
  readonly what: /** Its row was inserted. */
    | 'stored'
    /** It has a workflow, whose runs Temporal knows. */
    | 'workflow'
    /** It is or was to be sent, or its next try is. */
    | 'due'
    /** A try to publish it, or to handle it, did not succeed. */
    | 'attempt'
    /** The broker has acknowledged it. */
    | 'published'
    /** What the log of the broker says about its record; only if it was looked into. */
    | 'record'
    /** Its receipt has come. */
    | 'confirmed'
    /** It ended in another way: canceled, expired, discarded, superseded. */
    | 'ended'
    /** It will not be tried again unless a person decides so. */
    | 'failed'
    | 'archived'
    /** An operator changed it, or was refused. */
    | 'operator'
    /** A group has put it aside, to try it again. */
    | 'parked'
    /** A group has committed its effect. */
    | 'handled'
    /** Something that is not known. */
    | 'gap';
  /** `outbox`, `Temporal`, `broker`, or `group` and its name. */
  readonly where: string;
  /** For people, without payload and headers. */
  readonly detail: string;
}

/** One list of what several places know, earliest first. What has no time stays behind what its place says comes before. */
export function inOrder(places: readonly (readonly TimelineEntry[])[]): readonly TimelineEntry[] {
  const placed = places.flatMap((entries) => {
    let last = Number.NEGATIVE_INFINITY;
    return withUntimedLast(entries).map((entry) => {
      last = entry.at === null ? last : entry.at.getTime();
      // A gap without anything before it is no beginning.
      const at = last === Number.NEGATIVE_INFINITY && entry.what === 'gap' ? Number.POSITIVE_INFINITY : last;
      return { entry, at };
    });
  });
  return placed.toSorted((a, b) => (a.at === b.at ? 0 : a.at - b.at)).map(({ entry }) => entry);
}

/** Sorts what has a time, and leaves the others behind the entry that they follow. */
function withUntimedLast(entries: readonly TimelineEntry[]): readonly TimelineEntry[] {
  const runs: { readonly at: number; readonly run: TimelineEntry[] }[] = [];
  for (const entry of entries) {
    const current = runs.at(-1);
    if (entry.at === null && current !== undefined) current.run.push(entry);
    else runs.push({ at: entry.at?.getTime() ?? Number.NEGATIVE_INFINITY, run: [entry] });
  }
  return runs.toSorted((a, b) => (a.at === b.at ? 0 : a.at - b.at)).flatMap(({ run }) => run);
}
