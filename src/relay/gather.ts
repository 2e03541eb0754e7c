/** Ids of one call: enough to be worth a statement, few enough to keep it short. */
const idsPerCall = 500;

interface Asked<Answer> {
  readonly id: string;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Asks for many ids at once: those that arrive during a call share the next one. Without it thousands of workflows
 * whose messages are due at one instant would each have a statement, and the lanes would wait behind all of them.
 *
 * @param ask must answer for every id
 * @returns the answer of `ask` for the id; rejects as the call does
 */
export function gather<Answer>(
  ask: (ids: readonly string[]) => Promise<ReadonlyMap<string, Answer>>,
): (id: string) => Promise<Answer> {
  let waiting: Asked<Answer>[] = [];
  let asking = false;

  async function askAll(): Promise<void> {
    asking = true;
    while (waiting.length > 0) {
      const asked = waiting.slice(0, idsPerCall);
      waiting = waiting.slice(idsPerCall);
      try {
        const answers = await ask([...new Set(asked.map(({ id }) => id))]);
        for (const { id, resolve, reject } of asked) {
          const answer = answers.get(id);
          if (answer === undefined) reject(new Error(`There is no answer for ${id}.`));
          else resolve(answer);
        }
      } catch (error) {
        for (const { reject } of asked) reject(error);
      }
    }
    asking = false;
  }

  return (id) =>
    new Promise((resolve, reject) => {
      waiting.push({ id, resolve, reject });
      if (!asking) void askAll();
    });
}
