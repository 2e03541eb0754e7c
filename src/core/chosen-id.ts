import { installationOf } from './receipt.ts';

/**
 * Header of a message whose id its sender chose. Generated ids are unique, but services that make theirs of the same order
 * choose the same one: only together with its installation such an id identifies a message.
 */
export const chosenIdHeader = 'outbox-id';

/** How an inbox knows a message of an outbox whose id was chosen; as of any other CloudEvent. */
export function chosenId(installation: string, id: string): string {
  return `/outbox/${installation}|${id}`;
}

/**
 * What a receiver without an inbox knows a message by, or one that must not believe its other headers: the same as an inbox.
 *
 * @param message as it is sent, with CloudEvents
 */
export function identityOf({
  headers,
  id,
}: {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
}): string {
  const installation =
    headers[chosenIdHeader] === undefined ? undefined : installationOf(headers['ce_source']);
  return installation === undefined ? id : chosenId(installation, id);
}

/** The id of the message in its outbox: {@link chosenId} without the installation. */
export function ownId(inboxId: string): string {
  const at = inboxId.lastIndexOf('|');
  return at >= 0 && installationOf(inboxId.slice(0, at)) !== undefined ? inboxId.slice(at + 1) : inboxId;
}

/** For a copy, which has an id of its own. */
export function withoutChosenId(headers: Readonly<Record<string, string>> | null): Record<string, string> {
  const { [chosenIdHeader]: _, ...rest } = headers ?? {};
  return rest;
}
