/** A request does not have its address, and a header of the client must not. */
const addresses = new WeakMap<Request, string>();

/** Notes from which address a request has come. */
export function noteAddress(request: Request, address: string | undefined): void {
  if (address !== undefined) addresses.set(request, address);
}

/** The address of the connection, which may be that of a proxy; `undefined` where the API is mounted in another server. */
export function remoteAddress(request: Request): string | undefined {
  return addresses.get(request);
}
