import type * as transports from '../src/transports.ts';

export function capabilitiesTable(from: typeof transports): string;
export function withCapabilities(page: string, from: typeof transports): string;
