/** The words for a connection to a server that failed: the cause, and advice. */
import { unknownAuthorityCodes } from '../../lib/connections/certificate-errors.ts';

/** A server that could not be connected to; the message names it. */
export class ConnectionFailedError extends Error {
  override readonly name = 'ConnectionFailedError';
  readonly advice: string;

  /** `address`: as the user would name it. */
  constructor(address: string, cause: Error) {
    const { reason, advice } = explainConnectionFailure(
      cause,
      'start the server, or name the address of another',
    );
    super(`${address}: ${reason}`, { cause });
    this.advice = advice;
  }
}

export interface ConnectionFailure {
  readonly reason: string;
  readonly advice: string;
}

/** OpenSSL's codes for a certificate that is not trusted; its message says why. */
const untrusted = new Set([
  ...unknownAuthorityCodes,
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
  'INVALID_CA',
]);
/** A peer that answers the beginning of TLS with something else. */
const noTls = /wrong version number|packet length too long|http request/;

/** `elsewhere`: the advice where the server is not there, or is another; `trust`: where its certificate is not trusted. */
export function explainConnectionFailure(
  { code = '', message }: NodeJS.ErrnoException,
  elsewhere: string,
  trust = 'name the file of its authority with --ca, or for a test trust anybody with --insecure',
): ConnectionFailure {
  if (untrusted.has(code))
    return { reason: `the certificate there is not trusted: ${message}`, advice: trust };
  if (noTls.test(message))
    return {
      reason: 'no TLS is spoken there',
      advice: 'begin the address with http:// or ws://, and that of a sleep server with nothing',
    };
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return { reason: `the TLS handshake was refused: ${openSslReason(message)}`, advice: elsewhere };
  if (code === 'ECONNREFUSED') return { reason: 'nothing listens there', advice: elsewhere };
  return otherFailures[code]?.(message) ?? { reason: message || code || 'unknown', advice: elsewhere };
}

const otherFailures: Readonly<Record<string, (message: string) => ConnectionFailure>> = {
  ECONNRESET: (message) => ({
    reason: `the connection broke: ${message}`,
    advice: 'where TLS is spoken there, begin the address with https://, wss:// or tls://',
  }),
  ENOTFOUND: (message) => ({ reason: message, advice: 'correct the name, or use an IP address' }),
  ERR_TLS_CERT_ALTNAME_INVALID: (message) => ({
    reason: `the certificate there is for another name: ${message}`,
    advice: 'use a name that is in the certificate',
  }),
};

/** `…:error:0A000410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure:../deps/…`: the fourth part after `error`. */
function openSslReason(message: string): string {
  const [, parts = ''] = message.split(':error:');
  return parts.split(':')[3] ?? message;
}
