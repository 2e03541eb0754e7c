import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { value } from '../../../core/options/values.ts';

/** IPv4 networks outside the public internet, and Azure's host address, which only its virtual machines reach. */
const refusedIpv4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
/** The only allocated global unicast IPv6; all else is local, reserved, or embeds IPv4. */
const givenOutIpv6 = ['2000::', 3] as const;
/** Networks within it for protocols, tunnels that embed IPv4, and documentation. */
const refusedIpv6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const refused = new BlockList();
for (const [network, prefix] of refusedIpv4) refused.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of refusedIpv6) refused.addSubnet(network, prefix, 'ipv6');
const givenOut = new BlockList();
givenOut.addSubnet(...givenOutIpv6, 'ipv6');

/** The address is private, of this machine or of a cloud metadata service, and not in `allow`. */
export class AddressRefused extends Error {
  constructor(host: string, address: string) {
    const what = host === address ? address : `${host} (${address})`;
    super(`${what} is not an address of the public internet, and \`allow\` does not name it`);
    this.name = 'AddressRefused';
  }
}

/** Decides to which hosts connections may be opened. */
export interface AddressGuard {
  /** Checks a host that is an IP address; a name is checked when it is resolved. @throws AddressRefused */
  check(host: string): void;
  /**
   * Resolves names for `net.connect`. All addresses must be allowed, and the connection uses the checked result, which
   * prevents DNS rebinding.
   */
  readonly lookup: LookupFunction;
}

/** An entry of {@link addressGuard}. */
export const allowed = value('an IP address, a network such as 10.1.0.0/16, or a host name', (given) =>
  typeof given === 'string' && (addNetwork(new BlockList(), given) || hostName.test(given))
    ? given
    : undefined,
);
const hostName = /^(?=.*[a-z])[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?$/i;

/** @param allow IP addresses, networks (`10.1.0.0/16`) and host names that may be private */
export function addressGuard(allow: readonly string[]): AddressGuard {
  const networks = new BlockList();
  const names = new Set<string>();
  for (const entry of allow) if (!addNetwork(networks, entry)) names.add(entry.toLowerCase());
  const isAllowed = (address: string): boolean => {
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (networks.check(address, family)) return true;
    return !refused.check(address, family) && (family === 'ipv4' || givenOut.check(address, family));
  };
  return {
    check(host) {
      if (isIP(host) !== 0 && !isAllowed(host)) throw new AddressRefused(host, host);
    },
    lookup(host, options, answer) {
      resolve(host, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return answer(error, '');
        const bad = names.has(host.toLowerCase())
          ? undefined
          : addresses.find((one) => !isAllowed(one.address));
        const [first] = addresses;
        if (bad !== undefined) answer(new AddressRefused(host, bad.address), '');
        else if (options.all === true) answer(null, addresses);
        else answer(null, first?.address ?? '', first?.family);
      });
    },
  };
}

/** @returns false if it is no address and no network */
function addNetwork(networks: BlockList, entry: string): boolean {
  const [address = '', prefix, ...more] = entry.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  const bits = version === 6 ? 128 : 32;
  const length = prefix === undefined ? bits : Number(/^\d{1,3}$/.exec(prefix)?.[0] ?? Number.NaN);
  if (!(length >= 0 && length <= bits)) return false;
  networks.addSubnet(address, length, version === 6 ? 'ipv6' : 'ipv4');
  return true;
}
