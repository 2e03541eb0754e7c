/** When a certificate expires that a connection to a server needs. */
export interface CertificateEnd {
  /** `PostgreSQL`, `Temporal`, or the name of a transport. */
  readonly server: string;
  /** `host:port` */
  readonly address: string;
  /** Whose it is: that of the server, or that of the relay for it. */
  readonly whose: 'server' | 'client';
  /** ISO time. */
  readonly until: string;
}
