import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { readTextFile } from '../text-file.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsSettings {
  readonly tls_cert_file: string | null;
  readonly tls_key_file: string | null;
}

/** Null: no TLS. `pairedTlsFiles` ensures that both or neither are configured. */
export function tlsFiles({ tls_cert_file: certFile, tls_key_file: keyFile }: TlsSettings): TlsFiles | null {
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

export interface Certificate {
  /** Contents of the PEM files. */
  readonly cert: string;
  readonly key: string;
  readonly secureContext: SecureContext;
  /** SHA-256 of the certificate, in the form of `fingerprint256` of Node's peer certificates. */
  readonly fingerprint: string;
}

/** Null: TLS is off. Throws when a file is unreadable or certificate and key do not match. */
export function readCertificate(tls: TlsFiles | null): Certificate | null {
  if (tls === null) return null;
  const cert = readTextFile(tls.certFile);
  const key = readTextFile(tls.keyFile);
  const secureContext = createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
  return { cert, key, secureContext, fingerprint: new X509Certificate(cert).fingerprint256 };
}
