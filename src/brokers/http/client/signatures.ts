import type * as Standardwebhooks from 'standardwebhooks';
import { misfit, type Reader } from '../../../core/options/reader.ts';
import { optionalPackage } from '../../../core/packages.ts';
import { reasonOf } from '../../../core/reason.ts';

/** One secret, or several during a rotation: `whsec_` and 24 bytes or more in base64, as in Standard Webhooks. */
export type WebhookSecret = string | readonly string[];

/** The headers of Standard Webhooks. The signature covers id, timestamp and body. */
export interface SignedHeaders {
  readonly 'webhook-id': string;
  /** Seconds since the epoch. */
  readonly 'webhook-timestamp': string;
  /** One signature per secret, separated by spaces. */
  readonly 'webhook-signature': string;
}

/** The lower limit of Standard Webhooks. */
const minSecretBytes = 24;

/** The package standardwebhooks. @throws OutboxError `OUTBOX_PACKAGE_MISSING` */
const standardWebhooks = optionalPackage<typeof Standardwebhooks>('webhooks', 'standardwebhooks');

/** Signs and verifies with the given secrets. */
export class Webhooks {
  readonly #each: readonly Standardwebhooks.Webhook[];

  /** @throws OutboxError `OUTBOX_PACKAGE_MISSING` */
  constructor(secrets: readonly string[]) {
    const { Webhook } = standardWebhooks();
    this.#each = secrets.map((secret) => new Webhook(secret));
  }

  /** Signs with every secret, so that a receiver that knows any of them accepts it. */
  sign(id: string, body: string, now: Date): SignedHeaders {
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': this.#each.map((webhook) => webhook.sign(id, now, body)).join(' '),
    };
  }

  /**
   * Verifies the signature: by one of the secrets, with a timestamp at most five minutes in the past or future.
   *
   * @returns the reason why it is refused; `undefined` if it is valid
   */
  refusal(headers: SignedHeaders, body: string): string | undefined {
    let why: string | undefined;
    for (const webhook of this.#each) {
      try {
        webhook.verify(body, { ...headers }, { jsonParse: false });
        return undefined;
      } catch (error) {
        why = reasonOf(error);
      }
    }
    return why;
  }
}

/** Reads a {@link WebhookSecret}. @throws OutboxError `OUTBOX_PACKAGE_MISSING` */
export const webhooks: Reader<Webhooks> = {
  wanted: `\`whsec_\` and at least ${minSecretBytes} bytes in base64, or a list of such`,
  read(given, option) {
    // First: without the package no secret will do.
    standardWebhooks();
    const secrets: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (secrets.length === 0 || !secrets.every(isSecret)) throw misfit(option, `must be ${webhooks.wanted}`);
    return new Webhooks(secrets);
  },
};

function isSecret(value: unknown): value is string {
  if (typeof value !== 'string') return false;
  const text = value.replace(/^whsec_/, '');
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) && Buffer.from(text, 'base64').length >= minSecretBytes;
}
