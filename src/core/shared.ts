import path from 'node:path';

/** Under one key in every copy of the package that a process has loaded, also of other versions. */
function keyOf(name: string): symbol {
  return Symbol.for(`temporal-outbox/${name}`);
}

/**
 * State that all copies of the package in one process share: a workspace package, or a dependency, may bring a copy of its own,
 * and what one copy makes is given to another. A version that keeps something else takes another name.
 */
export function shared<State extends object>(name: string, make: () => State): State {
  const key = keyOf(name);
  const kept: unknown = Reflect.get(globalThis, key);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each copy keeps this shape under this name
  if (typeof kept === 'object' && kept !== null) return kept as State;
  const made = make();
  Object.defineProperty(globalThis, key, { value: made });
  return made;
}

/** A mark that every copy recognizes, where `instanceof` would know the classes of its own copy only. */
interface Brand<Value> {
  /** Marks an object, or all that have this prototype. */
  put(on: object, value: Value): void;
  /** @returns what it is marked with; `undefined`: nothing */
  of(given: unknown): Value | undefined;
}

/** The brand of a name. A version that puts another kind of value takes another name. */
export function brand<Value>(name: string): Brand<Value> {
  const key = keyOf(name);
  return {
    put: (on, value) => void Object.defineProperty(on, key, { value }),
    of(given) {
      if (typeof given !== 'object' || given === null) return undefined;
      try {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each copy puts this kind of value under this name
        return Reflect.get(given, key) as Value | undefined;
      } catch {
        // A proxy that answers nothing, which a handler may throw.
        return undefined;
      }
    },
  };
}

/** The folders of the copies. */
const copies = shared('copies', () => new Set<string>());

/** Warns once of each further copy: two versions may disagree about what they share. */
export function noteCopy(folder: string): void {
  if (copies.has(folder)) return;
  copies.add(folder);
  if (copies.size === 1) return;
  // oxlint-disable-next-line no-restricted-globals -- it warns, and reads nothing of the environment
  process.emitWarning(
    `This process has loaded temporal-outbox ${copies.size} times, from ${[...copies].join(' and ')}. Copies of one version work together; \`npm ls temporal-outbox\` shows who brings another.`,
    { code: 'TEMPORAL_OUTBOX_LOADED_TWICE' },
  );
}

// Of these two names an ESM bundle has the one that it needs anyway.
noteCopy(path.dirname(__filename));
