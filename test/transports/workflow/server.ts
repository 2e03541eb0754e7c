import { startTemporal } from '../../../dev/servers/index.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** `host:port` of the Temporal of the user's workflows: another than that of the relays. */
    ownTemporal: string;
  }
}

interface Project {
  provide(key: 'ownTemporal', value: string): void;
}

/** A vitest `globalSetup`: a Temporal server besides that of the relays, if there is one. */
export async function setup(project: Project): Promise<() => Promise<void>> {
  const temporal = await startTemporal({ env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  project.provide('ownTemporal', temporal.address);
  return () => temporal.stop();
}
