/** A value, or a function that returns it when it is needed, such as `env('NAME')`. */
export type Lazy<Value> = Value | (() => Value);

/** The value itself. @throws whatever its function throws */
export function read<Value extends string | boolean | object>(lazy: Lazy<Value>): Value {
  return isLate(lazy) ? lazy() : lazy;
}

function isLate<Value>(lazy: Lazy<Value>): lazy is () => Value {
  return typeof lazy === 'function';
}
