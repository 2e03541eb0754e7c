/** Runs `work` at most once at a time. Calls while it runs make it run once more, so that no call is missed. */
export function coalesce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let again: boolean;

  async function loop(): Promise<void> {
    try {
      do {
        again = false;
        await work();
      } while (again);
    } finally {
      // In the same tick as the last check of `again`: a call in between would wait for a run that is over.
      running = undefined;
    }
  }

  return () => {
    if (running === undefined) running = loop();
    else again = true;
    return running;
  };
}
