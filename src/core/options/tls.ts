import { isObject } from './collections.ts';
import { Misfit, misfit, type Reader } from './reader.ts';
import { either } from './values.ts';

/** `true`, `false` or options of `tls.connect`. */
export const tls = <Options extends object>(): Reader<boolean | Options> =>
  either([true, false], tlsOptions<Options>());

/** Options of `tls.connect`, by their names only: Node judges their values. */
export function tlsOptions<Options extends object>(): Reader<Options> {
  const wanted = 'options of tls.connect';
  return {
    wanted,
    read(given, option) {
      if (!isObject(given)) throw misfit(option, `must be ${wanted}`);
      const problems = Object.keys(given)
        .filter((name) => !tlsOptionNames.has(name))
        .map((name) => ({ path: `${option.path}.${name}`, what: 'is unknown', instead }));
      if (problems.length > 0) throw new Misfit(problems);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node's own type, which src/core may not import
      return given as Options;
    },
  };
}

const instead = 'use options of tls.connect, but for address, socket and timeout, which are set already';

/** Options of `tls.connect` that make sense, given that the library sets the rest. */
const tlsOptionNames: ReadonlySet<string> = new Set([
  'ALPNProtocols',
  'allowPartialTrustChain',
  'ca',
  'cert',
  'checkServerIdentity',
  'ciphers',
  'clientCertEngine',
  'crl',
  'dhparam',
  'ecdhCurve',
  'enableTrace',
  'honorCipherOrder',
  'key',
  'maxVersion',
  'minDHSize',
  'minVersion',
  'passphrase',
  'pfx',
  'privateKeyEngine',
  'privateKeyIdentifier',
  'pskCallback',
  'rejectUnauthorized',
  'requestOCSP',
  'secureContext',
  'secureOptions',
  'secureProtocol',
  'servername',
  'session',
  'sessionIdContext',
  'sessionTimeout',
  'sigalgs',
  'ticketKeys',
]);
