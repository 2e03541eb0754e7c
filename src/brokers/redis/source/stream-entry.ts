import type { IncomingMessage } from '../../source.ts';
import { entryFields, headerField } from '../client/message-format.ts';

/**
 * A stream entry as a message. Texts are decoded on access.
 *
 * An entry with a field `payload` is read in the format of this library. Any other comes from another sender: its body
 * is a JSON object of its fields, and it has neither key nor headers.
 */
export class StreamEntry implements IncomingMessage {
  readonly address: string;
  readonly partition = 0;
  readonly offset: string;
  /** Names and values in turn. */
  readonly #fields: readonly Buffer[];
  readonly #payload: Buffer | undefined;

  constructor(address: string, id: string, fields: readonly Buffer[]) {
    this.address = address;
    this.offset = id;
    this.#fields = fields;
    // In entries of this library it is the last field.
    this.#payload =
      fields.at(-2)?.toString('latin1') === entryFields.payload
        ? fields.at(-1)
        : this.#value(entryFields.payload);
  }

  get key(): string | null {
    return this.#payload === undefined ? null : (this.#value(entryFields.key)?.toString() ?? null);
  }

  get body(): Uint8Array {
    return this.#payload ?? Buffer.from(JSON.stringify(this.#asObject()));
  }

  get headers(): Readonly<Record<string, string>> {
    const headers: Record<string, string> = {};
    if (this.#payload === undefined) return headers;
    for (const [name, value] of this.#pairs())
      if (name.startsWith(headerField)) headers[name.slice(headerField.length)] = value.toString();
    return headers;
  }

  /** When the server added it: the first part of the id, unless the sender chose the id. */
  get timestamp(): Date {
    return new Date(Number(this.offset.slice(0, this.offset.indexOf('-'))));
  }

  header(name: string): string | undefined {
    return this.#payload === undefined ? undefined : this.#value(headerField + name)?.toString();
  }

  #value(name: string): Buffer | undefined {
    const length = Buffer.byteLength(name);
    for (let at = 0; at + 1 < this.#fields.length; at += 2) {
      const field = this.#fields[at];
      if (field?.length === length && field.toString() === name) return this.#fields[at + 1];
    }
    return undefined;
  }

  #asObject(): Readonly<Record<string, string>> {
    return Object.fromEntries(Array.from(this.#pairs(), ([name, value]) => [name, value.toString()]));
  }

  *#pairs(): Iterable<readonly [name: string, value: Buffer]> {
    for (let at = 0; at + 1 < this.#fields.length; at += 2) {
      const value = this.#fields[at + 1];
      if (value !== undefined) yield [this.#fields[at]?.toString() ?? '', value];
    }
  }
}
