import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';

/**
 * Puts a proxy in front of the server of a database; it ends with the test.
 *
 * @param url of the database
 * @param seed of the proxy
 */
export async function proxiedDatabase(
  context: { readonly onTestFinished: (work: () => Promise<void>) => void },
  url: string,
  seed: number,
): Promise<{ readonly proxy: FaultProxy; readonly url: string }> {
  const through = new URL(url);
  const proxy = await startFaultProxy(through.host, seed);
  context.onTestFinished(() => proxy.close());
  through.host = proxy.address;
  return { proxy, url: through.href };
}
