/** The listener's certificate, read from its files. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { MediaLegsSettings } from './settings.ts';

/** What they hold, as PEM. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Null where TLS is off. Throws when a file cannot be read or the two do not belong together. */
export function readCertificate(tls: MediaLegsSettings['tls']): Certificate | null {
  if (tls === null) return null;
  const certificate = { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
  createSecureContext(certificate);
  return certificate;
}
