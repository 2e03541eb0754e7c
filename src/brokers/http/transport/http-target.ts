import { OutboxError } from '../../../core/errors.ts';

/** A parsed address. */
export interface HttpTarget {
  readonly url: URL;
  /** Host and port, for display: path and query may contain secrets. */
  readonly server: string;
  /** The host as a socket takes it: an IPv6 address without brackets. */
  readonly host: string;
  readonly path: string;
}

/**
 * Parses an address.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` if it is not an `https://` or `http://` URL, or contains a user or password
 */
export function httpTarget(address: string): HttpTarget {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw invalid('is no https:// or http:// URL: set `address` of the topic');
  if (url.username !== '' || url.password !== '')
    throw invalid('contains a user or a password: set them as a header by `headers` of http()');
  return {
    url,
    server: url.host,
    host: url.hostname.replaceAll(/^\[|\]$/g, ''),
    path: `${url.pathname}${url.search}`,
  };
}

function invalid(what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The address of the topic ${what}.`, {
    details: { option: 'address' },
  });
}
