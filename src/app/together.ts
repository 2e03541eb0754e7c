/**
 * Passes each event to all listeners; an error of one affects neither the others nor the caller.
 *
 * @returns `undefined` if there is no listener
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
        // Nothing depends on a listener.
      }
    }
  };
}
