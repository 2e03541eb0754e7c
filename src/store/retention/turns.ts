/** One kind of work of a round, done page by page: a lane, a state, the batches of a lane. */
export interface Task {
  /** Unique in its round, and the same in the next one. */
  readonly name: string;
  /** Does one page, and returns whether there is, or may be, another. */
  page(): Promise<boolean>;
}

/** Where the last round ended. Kept by the caller between rounds; nothing depends on it. */
export class Progress {
  /** Cursors of unfinished walks, by the names of their tasks. */
  readonly cursors = new Map<string, string>();
  /** The task whose turn would have been next. */
  next: string | undefined;
  /** The last round ended before its work was done. */
  behind = false;
}

/**
 * Runs the tasks in turn, a page each, until all are done or the round is over. So a task that never ends only delays the
 * others.
 *
 * @returns whether all are done
 */
export async function takeTurns(
  tasks: readonly Task[],
  progress: Progress,
  over: () => boolean,
): Promise<boolean> {
  const first = Math.max(
    0,
    tasks.findIndex(({ name }) => name === progress.next),
  );
  let left = [...tasks.slice(first), ...tasks.slice(0, first)];
  while (left.length > 0) {
    const again: Task[] = [];
    for (const task of left) {
      if (over()) {
        progress.next = task.name;
        return false;
      }
      if (await task.page()) again.push(task);
    }
    left = again;
  }
  progress.next = undefined;
  return true;
}
