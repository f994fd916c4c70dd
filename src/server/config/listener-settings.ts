/** What listeners can be set to alike. */
import type { z } from 'zod';
import { setting } from './settings-section.ts';
import { optionalText, wholeNumber } from './settings-values.ts';

/** Of every listener that can have a certificate. */
export const tlsSettings = {
  tls_cert_file: setting(optionalText('the path of a PEM file'), null, 'Certificate chain; nothing: no TLS.'),
  tls_key_file: setting(optionalText('the path of a PEM file'), null, 'Private key of the certificate.'),
};

/** Both listeners for devices, sleep and signal. */
export const deviceListenerSettings = {
  drain_per_second: setting(
    wholeNumber(1, 1_000_000),
    2000,
    'Sessions closed per second at an orderly stop.',
  ),
  drain_deadline_ms: setting(
    wholeNumber(0, 600_000),
    30_000,
    'Sessions still open this long after the stop began are left to the kernel.',
  ),
  ...tlsSettings,
};

/** A certificate and its key are given together or not at all. */
export function pairedTlsFiles(
  given: { readonly tls_cert_file: string | null; readonly tls_key_file: string | null },
  context: z.core.$RefinementCtx,
): void {
  if ((given.tls_cert_file === null) === (given.tls_key_file === null)) return;
  const missing = given.tls_cert_file === null ? 'tls_cert_file' : 'tls_key_file';
  const message = 'a path: a certificate and its key are given together';
  context.addIssue({ code: 'custom', path: [missing], input: null, message });
}
