/** The version that a `package.json` states, as `1.2.3`. @throws Error when it states none */
export function manifestVersion(manifest: unknown): string {
  const version: unknown =
    typeof manifest === 'object' && manifest !== null && Reflect.get(manifest, 'version');
  if (typeof version === 'string') return version;
  throw new Error('A package.json states no version.');
}
