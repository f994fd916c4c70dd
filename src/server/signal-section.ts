/** The settings of the signal listener. Source: signal-wire.md; what it leaves open is chosen here. */
import { pairedTlsFiles, section, setting } from './settings-section.ts';
import { listenAddress, optionalText, wholeNumber } from './settings-values.ts';

export const signalSection = section({
  listen: setting(listenAddress, '127.0.0.1:8082', 'Where device controllers connect.'),
  max_sessions: setting(
    wholeNumber(1, 10_000_000),
    1_000_000,
    'Signal sessions at once; with the sleep sessions they stay below the limit of open files less 1024.',
  ),
  handshakes_max: setting(wholeNumber(1, 1_000_000), 20_000, 'Controllers not yet logged in, at once.'),
  handshakes_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'Controllers not yet logged in from one address (IPv6: one /64); 0: no such bound.',
  ),
  login_deadline_ms: setting(
    wholeNumber(1, 600_000),
    10_000,
    'From the challenge to the login; then the connection is closed with 4408.',
  ),
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
  tls_cert_file: setting(
    optionalText('the path of a PEM file'),
    null,
    'Certificate chain; nothing: plain WebSockets.',
  ),
  tls_key_file: setting(optionalText('the path of a PEM file'), null, 'Private key of the certificate.'),
}).superRefine(pairedTlsFiles);
