const codes =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_(?:CA|PURPOSE)$|HOSTNAME_MISMATCH$)/;

/** Whether an error with this code is what Node says of a certificate, or of a handshake that one side ended. */
export function isTlsFailure(code: string): boolean {
  return codes.test(code);
}
