import { readJson } from './json.ts';
/** Where receipts are sent: one address per broker, shared by all installations and groups that use it. */
export const receiptsAddress = 'outbox-receipts';

/** Maximum number of ids per receipt, so that its record stays far below the limits of a broker. */
export const receiptIdLimit = 1_000;

/** A consumer group's confirmation of messages that it received. */
export interface Receipt {
  readonly group: string;
  /** UUID of the installation that sent the messages; `undefined` if their source does not contain it. */
  readonly installation: string | undefined;
  /** `processed`: their effects are committed. `parked`: kept by the consumer, which will try them again. */
  readonly state: 'processed' | 'parked';
  readonly ids: readonly string[];
}

/** Version of the format; a reader skips other versions. */
const version = 1;

/** A receipt as the body of a record. */
export function writeReceipt({ group, installation, state, ids }: Receipt): string {
  return JSON.stringify({ version, group, ...(installation !== undefined && { installation }), state, ids });
}

/**
 * Reads the body of a record.
 *
 * @returns the receipt, or a sentence that says why it is not one of this version
 */
export function readReceipt(body: string): Receipt | string {
  const value = parsed(body);
  if (value === undefined) return 'It is not a JSON object.';
  if (value['version'] !== version) return `Its version is not ${version}.`;
  const { group, installation, state, ids } = value;
  if (typeof group !== 'string' || group === '') return 'It has no group.';
  if (installation !== undefined && typeof installation !== 'string')
    return 'Its installation is not a string.';
  if (state !== 'processed' && state !== 'parked') return 'Its state is neither processed nor parked.';
  if (!isTexts(ids) || ids.length > receiptIdLimit) return `It has no list of at most ${receiptIdLimit} ids.`;
  return { group, installation, state, ids };
}

/** The installation that a CloudEvents source (`/outbox/<uuid>`) names. */
export function installationOf(source: string | undefined): string | undefined {
  return /^\/outbox\/([0-9a-f-]{36})$/.exec(source ?? '')?.[1];
}

function parsed(body: string): Readonly<Record<string, unknown>> | undefined {
  const value = readJson(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return { ...value };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
