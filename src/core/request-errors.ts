import type { ErrorRule } from './error-rule.ts';

/** The errors of requests to the HTTP API. */
export const requestErrorRules = {
  OUTBOX_REQUEST_CROSS_SITE: {
    retryable: false,
    next: 'Make the request from a page of the same address; outside of a browser, send the header Origin with the address of the API.',
  },
  OUTBOX_REQUEST_DENIED: {
    retryable: false,
    next: 'Ask for the right that the message names; GET /me lists your own.',
  },
  OUTBOX_REQUEST_FAILED: { retryable: false, next: 'Look for the request id in the log of the API.' },
  OUTBOX_REQUEST_INVALID: {
    retryable: false,
    next: 'Correct what is named; GET /openapi.json describes every request.',
  },
  OUTBOX_REQUEST_LIMITED: { retryable: true, next: 'Wait, or end what is open, and try again.' },
  OUTBOX_REQUEST_REPEATED: {
    retryable: false,
    next: 'Use a new Idempotency-Key for every request that asks for something else.',
  },
  OUTBOX_REQUEST_TOO_LARGE: { retryable: false, next: 'Send less at once.' },
  OUTBOX_REQUEST_UNPROVED: {
    retryable: false,
    next: 'Sign in, or send the credentials that the header WWW-Authenticate asks for.',
  },
} as const satisfies Record<string, ErrorRule>;
