import type { LookupAddress } from 'node:dns';
import { expect, test } from 'vitest';
import {
  type AddressGuard,
  AddressRefused,
  addressGuard,
} from '../../../../src/brokers/http/transport/address-guard.ts';
import { httpTarget } from '../../../../src/brokers/http/transport/http-target.ts';
import { http } from '../../../../src/transports.ts';

const guard = addressGuard([]);
const secret = `whsec_${Buffer.alloc(24).toString('base64')}`;
/** As a URL has it: decimal, octal and short forms are one address. */
const hostOf = (host: string): string => httpTarget(`http://${host}/`).host;

test.each([
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '0.0.0.0',
  '0',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:a9fe:a9fe]',
  '[::ffff:8.8.8.8]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[2001::1]',
  '[2001:db8::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
])('%s is refused', (host) => {
  expect(() => guard.check(hostOf(host))).toThrow(AddressRefused);
});

test.each([
  '8.8.8.8',
  '172.15.255.255',
  '172.32.0.1',
  '100.128.0.1',
  '1.1.1.1',
  '[2606:4700::1111]',
  '[2a00::1]',
])('%s is allowed', (host) => {
  expect(() => guard.check(hostOf(host))).not.toThrow();
});

test('an address is allowed in addition only if `allow` lists it', () => {
  const own = addressGuard(['10.1.0.0/16', '192.168.7.7', 'fd00:1::/32', '::1']);
  for (const host of ['10.1.2.3', '192.168.7.7', 'fd00:1::5', '::1', '::ffff:10.1.0.1'])
    expect(() => own.check(host), host).not.toThrow();
  for (const host of ['10.2.0.1', '192.168.7.8', 'fd00:2::5', '127.0.0.1', '::ffff:10.2.0.1'])
    expect(() => own.check(host), host).toThrow(AddressRefused);
});

function resolved(by: AddressGuard, host: string, all: boolean) {
  return new Promise<string | readonly LookupAddress[]>((resolve, reject) => {
    by.lookup(host, { all }, (error, address) => (error === null ? resolve(address) : reject(error)));
  });
}

test('a name is checked by its resolved addresses, whichever form of lookup is called', {
  tags: ['http-reaches-no-private-address'],
}, async () => {
  await expect(resolved(guard, 'localhost', true)).rejects.toThrow(
    /localhost \(.*\) is not an address of the public/,
  );
  await expect(resolved(guard, 'localhost', false)).rejects.toThrow(AddressRefused);
  await expect(resolved(addressGuard(['127.0.0.1']), 'no-such-host.invalid', true)).rejects.toThrow(
    /ENOTFOUND|EAI_AGAIN/,
  );
});

test('an allowed name may resolve to any address', async () => {
  const named = addressGuard(['LocalHost']);
  expect(await resolved(named, 'localhost', true)).toContainEqual(expect.objectContaining({ family: 4 }));
  expect(await resolved(named, 'localhost', false)).toMatch(/^127\.|^::1$/);
  expect(() => named.check('127.0.0.1')).toThrow(AddressRefused);
});

test.each(['', '*', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', 'a b', '300.1.1.1', 'http://a', 'a..b', 7])(
  'an entry %j of `allow` is refused',
  (entry) => {
    expect(() => http({ secret, allow: [entry as string] })).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ option: 'allow[0]' }) }),
    );
  },
);

test.each([
  'orders',
  '',
  'ftp://a.test/',
  'file:///etc/passwd',
  'https://user@a.test/',
  'https://:pw@a.test/',
])('the address %j is refused, and not repeated in the error', (address) => {
  expect(() => httpTarget(address)).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', message: expect.not.stringContaining('pw') }),
  );
});

test('the path and the query of an address are sent, the fragment is not', () => {
  expect(httpTarget('https://a.test:8443/b?c=d#e')).toMatchObject({ path: '/b?c=d', server: 'a.test:8443' });
});
