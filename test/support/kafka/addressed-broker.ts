import type { Transport } from '../../../src/brokers/transport.ts';
import { ScriptedBroker } from './scripted-broker.ts';

/** A broker whose addresses fail independently: each one has a script. */
export class AddressedBroker implements Transport {
  readonly name = 'addressed';
  readonly #addresses = new Map<string, ScriptedBroker>();

  /** The broker of an address; it stores everything unless it is scripted otherwise. */
  at(address: string): ScriptedBroker {
    const known = this.#addresses.get(address);
    if (known !== undefined) return known;
    const broker = new ScriptedBroker();
    this.#addresses.set(address, broker);
    return broker;
  }

  publish(batch: Parameters<Transport['publish']>[0]): ReturnType<Transport['publish']> {
    return this.at(batch.address).publish(batch);
  }

  probe(address: string): Promise<void> {
    return this.at(address).probe();
  }

  async close(): Promise<void> {}
}
