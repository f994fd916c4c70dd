/** A listener's certificate, read from its files. */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { readTextFile } from '../text-file.ts';

/** Paths of PEM files. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The settings of a listener that can have a certificate. */
export interface TlsSettings {
  readonly tls_cert_file: string | null;
  readonly tls_key_file: string | null;
}

/** Null: no TLS. Both or neither are given: `pairedTlsFiles` sees to it. */
export function tlsFiles({ tls_cert_file: certFile, tls_key_file: keyFile }: TlsSettings): TlsFiles | null {
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

export interface Certificate {
  /** What the files hold. */
  readonly cert: string;
  readonly key: string;
  readonly secureContext: SecureContext;
  /** SHA-256 of the certificate, as `fingerprint256` of Node's peer certificates. */
  readonly fingerprint: string;
}

/** Null where TLS is off. Throws when a file cannot be read or the two do not belong together. */
export function readCertificate(tls: TlsFiles | null): Certificate | null {
  if (tls === null) return null;
  const cert = readTextFile(tls.certFile);
  const key = readTextFile(tls.keyFile);
  const secureContext = createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
  return { cert, key, secureContext, fingerprint: new X509Certificate(cert).fingerprint256 };
}
