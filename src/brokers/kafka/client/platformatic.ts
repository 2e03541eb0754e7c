import { dirname, join } from 'node:path';
import type * as PlatformaticKafka from '@platformatic/kafka';
import { loadedOnce, loadOptional, resolveOptional } from '../../../core/packages.ts';

type Used =
  | 'ConfigResourceTypes'
  | 'Connection'
  | 'Writer'
  | 'crc32c'
  | 'createAPI'
  | 'describeConfigsV4'
  | 'metadataV9'
  | 'protocolErrors'
  | 'protocolErrorsCodesById'
  | 'saslAuthenticateV2'
  | 'saslHandshakeV1'
  | 'saslOAuthBearer'
  | 'saslPlain'
  | 'saslScramSha';

/** Connections and the codec for requests. */
type Client = Pick<typeof PlatformaticKafka, Used>;

/**
 * @platformatic/kafka. Only its connections and its codec for requests are used: kafkajs has no public
 * way to send a batch that is already encoded, and encodes ten times slower.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export const platformaticKafka = loadedOnce('kafka', () => loadParts() ?? load('@platformatic/kafka'));

/**
 * Its clients compile JSON schemas while they are loaded, which is more than half of the half second that the package takes, and
 * the first record of a relay waits for it.
 *
 * @returns `undefined` if a later version has its files elsewhere
 */
function loadParts(): Client | undefined {
  const folder = dirname(resolveOptional('@platformatic/kafka') ?? '');
  const part = (name: string): Client => load(join(folder, name, 'index.js'));
  try {
    return { ...part('network'), ...part('protocol'), ...part('apis') };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

function load(name: string): Client {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a package exports is known only by its name
  return loadOptional(name) as Client;
}
