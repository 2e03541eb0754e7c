/** The version that a `package.json` states, as `1.2.3`. @throws Error when it states none */
export function manifestVersion(manifest: unknown): string {
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version);
  throw new Error('A package.json states no version.');
}
