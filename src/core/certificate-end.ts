/** When a certificate expires that a relay has loaded for a server. */
export interface CertificateEnd {
  /** `PostgreSQL`, `Temporal`, or the name of a transport. */
  readonly server: string;
  /** Whose it is: that of the relay, or the first to end of the authorities that it trusts there. */
  readonly whose: 'client' | 'authority';
  /** ISO time. */
  readonly until: string;
}
