/** Runs `work` at most once at a time. Calls while it runs make it run once more, so that no call's reason is missed. */
export function coalesce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let again = false;

  async function loop(): Promise<void> {
    do {
      again = false;
      await work();
    } while (again);
  }

  return () => {
    if (running === undefined) {
      running = loop().finally(() => {
        running = undefined;
      });
    } else {
      again = true;
    }
    return running;
  };
}
