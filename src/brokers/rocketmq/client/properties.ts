import { readJson } from '../../../core/json.ts';

/** The property with the key of a message. Names that begin with `outbox-` are reserved. */
const keyProperty = 'outbox-key';
/** The property with all values that RocketMQ cannot carry unchanged, as a JSON object. */
const escapedProperty = 'outbox-escaped';

/** Characters that proxies refuse in a property. */
// oxlint-disable-next-line no-control-regex -- that is what they look for
const control = /[\u0000-\u001F\u007F-\u009F]/;
/** Those of them that JSON does not escape. */
const controlsOfJson = /[\u007F-\u009F]/g;

/**
 * Key and headers as properties of RocketMQ.
 *
 * A property cannot contain control characters, and an empty one is dropped; such values are sent in one extra property.
 */
export function toProperties(
  key: string | null,
  headers: Readonly<Record<string, string>>,
): readonly (readonly [string, string])[] {
  const plain: [string, string][] = [];
  const escaped: [string, string][] = [];
  const all =
    key === null ? Object.entries(headers) : [...Object.entries(headers), [keyProperty, key] as const];
  for (const [name, value] of all)
    (value === '' || control.test(value) ? escaped : plain).push([name, value]);
  if (escaped.length === 0) return plain;
  const text = JSON.stringify(Object.fromEntries(escaped)).replaceAll(
    controlsOfJson,
    (one) => `\\u00${one.charCodeAt(0).toString(16)}`,
  );
  return [...plain, [escapedProperty, text]];
}

/** The key, `undefined` without its property, and the headers of a message with these properties. */
export function fromProperties(properties: Iterable<readonly [string, string]>): {
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
} {
  const all = new Map<string, string>();
  for (const [name, value] of properties) {
    // Internal properties of brokers.
    if (name.startsWith('__')) continue;
    if (name !== escapedProperty) all.set(name, value);
    else for (const [inner, text] of unescaped(value)) all.set(inner, text);
  }
  const key = all.get(keyProperty);
  all.delete(keyProperty);
  return { key, headers: Object.fromEntries(all) };
}

/** Returns nothing for a value in another format: a received message is never refused here. */
function unescaped(text: string): readonly (readonly [string, string])[] {
  const parsed = readJson(text);
  if (typeof parsed !== 'object' || parsed === null) return [];
  return Object.entries(parsed).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
}
