/** How a person ends a session of PostgreSQL, and whom the server lets do that. */
export const endSession =
  'select pg_terminate_backend(<pid>), as its own role or with pg_signal_backend' as const;

/** The same of one session. */
export function endSessionOf(pid: number): string {
  return endSession.replace('<pid>', String(pid));
}
