/** Of every response, errors included. The API has no pages; a sign-in may set a policy of its own. */
const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** The response with the security headers that it does not set itself. */
export function withSecurityHeaders(response: Response): Response {
  // Those of a redirect cannot be changed.
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(securityHeaders))
    if (!headers.has(name)) headers.set(name, value);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
