/** Explains a failed connection to a server: the cause, and advice. */
import { unknownAuthorityCodes } from '../../lib/connections/certificate-errors.ts';

/** The message names the server. */
export class ConnectionFailedError extends Error {
  override readonly name = 'ConnectionFailedError';
  readonly advice: string;

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

/** OpenSSL's codes for an untrusted certificate; the message has the reason. */
const untrusted = new Set([
  ...unknownAuthorityCodes,
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
  'INVALID_CA',
]);
/** Errors when a peer without TLS answers a TLS handshake. */
const noTls = /wrong version number|packet length too long|http request/;

/** `elsewhere`: advice if the server is not at this address; `trust`: advice if its certificate is not trusted. */
export function explainConnectionFailure(
  { code = '', message }: NodeJS.ErrnoException,
  elsewhere: string,
  trust = 'name the certificate of its authority with --ca, or, in a test only, skip the check with --insecure',
): ConnectionFailure {
  if (untrusted.has(code))
    return { reason: `the certificate there is not trusted: ${message}`, advice: trust };
  if (noTls.test(message))
    return {
      reason: 'the server does not use TLS',
      advice: 'begin the address with http:// or ws://; the address of a sleep server has no scheme',
    };
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return { reason: `the TLS handshake was refused: ${openSslReason(message)}`, advice: elsewhere };
  if (code === 'ECONNREFUSED') return { reason: 'nothing listens there', advice: elsewhere };
  return otherFailures[code]?.(message) ?? { reason: message || code || 'unknown', advice: elsewhere };
}

const otherFailures: Readonly<Record<string, (message: string) => ConnectionFailure>> = {
  ECONNRESET: (message) => ({
    reason: `the connection broke: ${message}`,
    advice: 'if the server uses TLS, begin the address with https://, wss:// or tls://',
  }),
  ENOTFOUND: (message) => ({ reason: message, advice: 'correct the name, or use an IP address' }),
  ERR_TLS_CERT_ALTNAME_INVALID: (message) => ({
    reason: `the certificate there is for another name: ${message}`,
    advice: 'use a name that is in the certificate',
  }),
};

/** Extracts the fourth part after `error` of `…:error:0A000410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure:../deps/…`. */
function openSslReason(message: string): string {
  const [, parts = ''] = message.split(':error:');
  return parts.split(':')[3] ?? message;
}
