/** Where a database is, without a user and a password. */
export function addressOfDatabase(url: string): { readonly address: string; readonly database: string } {
  if (!URL.canParse(url)) return { address: 'an invalid address', database: '' };
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? (hostname === '' ? 'localhost' : hostname);
  return {
    address: `${host}:${port === '' ? '5432' : port}`,
    database: decoded(pathname.slice(1)),
  };
}

/** As it is written where it says nothing: this is for a person who looks for the mistake. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
