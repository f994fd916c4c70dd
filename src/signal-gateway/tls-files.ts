/** The listener's certificate, read from its files. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { SignalGatewaySettings } from './settings.ts';

/**
 * The text of both files, to know a new certificate by; null where TLS is off. Throws when a file cannot be read or
 * the two do not belong together: the library, which reads them again, would only say that it cannot.
 */
export function readTlsFiles(tls: SignalGatewaySettings['tls']): string | null {
  if (tls === null) return null;
  const cert = readFileSync(tls.certFile, 'utf8');
  const key = readFileSync(tls.keyFile, 'utf8');
  createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
  return `${cert}\n${key}`;
}
