/** Where a database is, without a user and a password. */
export function addressOfDatabase(url: string): { readonly address: string; readonly database: string } {
  if (!URL.canParse(url)) return { address: 'an invalid address', database: '' };
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? (hostname === '' ? 'localhost' : hostname);
  return {
    address: `${host}:${port === '' ? '5432' : port}`,
    database: decodeURIComponent(pathname.slice(1)),
  };
}
