/**
 * Gives each event to all listeners; what one throws harms neither the others nor whoever tells.
 *
 * @returns `undefined` where nobody listens
 */
export function together<Event>(
  ...given: readonly (((event: Event) => void) | undefined)[]
): ((event: Event) => void) | undefined {
  const listeners = given.filter((one) => one !== undefined);
  if (listeners.length === 0) return undefined;
  return (event) => {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch {
        // Nothing depends on anybody listening.
      }
    }
  };
}
