import type * as Standardwebhooks from 'standardwebhooks';
import { OutboxError } from '../../../core/errors.ts';
import { type Lazy, read } from '../../../core/options/lazy.ts';
import { requirePackages } from '../../../core/packages.ts';

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

let loaded: typeof Standardwebhooks | undefined;

/**
 * The package standardwebhooks, loaded on first use.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
function standardWebhooks(): typeof Standardwebhooks {
  if (loaded === undefined) {
    requirePackages('webhooks');
    // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- a static import would load it eagerly, and import() asynchronously
    loaded = require('standardwebhooks') as typeof Standardwebhooks;
  }
  return loaded;
}

/** Signs and verifies with the current secrets. Make a new one to read rotated secrets. */
export class Webhooks {
  readonly #each: readonly Standardwebhooks.Webhook[];

  /**
   * @param what the function whose option it is, for the error message
   * @throws OutboxError `OUTBOX_OPTION_INVALID`, never with the secret; `OUTBOX_PACKAGE_MISSING`; and any error of the function
   */
  constructor(what: string, secret: Lazy<WebhookSecret>) {
    const { Webhook } = standardWebhooks();
    const given: unknown = read(secret);
    const texts: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (texts.length === 0 || !texts.every(isSecret)) throw secretInvalid(what);
    this.#each = texts.map((text) => new Webhook(text));
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
        why = error instanceof Error ? error.message : String(error);
      }
    }
    return why;
  }
}

function isSecret(value: unknown): value is string {
  if (typeof value !== 'string') return false;
  const text = value.replace(/^whsec_/, '');
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) && Buffer.from(text, 'base64').length >= minSecretBytes;
}

function secretInvalid(what: string): OutboxError {
  return new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `The option \`secret\` of ${what} must be \`whsec_\` and at least ${minSecretBytes} bytes in base64, or a list of such.`,
    { details: { option: 'secret' } },
  );
}
