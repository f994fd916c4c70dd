/** The listener's certificate, read from its files. */
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { SleepGatewaySettings } from './settings.ts';

/** Null where TLS is off. Throws when a file cannot be read or the two do not belong together. */
export function readSecureContext(tls: SleepGatewaySettings['tls']): SecureContext | null {
  if (tls === null) return null;
  return createSecureContext({
    cert: readFileSync(tls.certFile),
    key: readFileSync(tls.keyFile),
    minVersion: 'TLSv1.2',
  });
}
