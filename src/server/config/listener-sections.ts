/**
 * The settings of the listeners of a server process: API, sleep, signal and ops. Source: running.md, sleep-wire.md and
 * signal-wire.md; what they leave open is chosen here.
 */
import type { z } from 'zod';
import { opsConnectionsReserved } from '../../model/limits.ts';
import {
  setting,
  section,
  listenAddress,
  optionalText,
  textList,
  wholeNumber,
  addressList,
  onOff,
} from './settings-values.ts';

/** Of every listener that can have a certificate. */
export const tlsSettings = {
  tls_cert_file: setting(optionalText('the path of a PEM file'), null, 'Certificate chain; nothing: no TLS.'),
  tls_key_file: setting(optionalText('the path of a PEM file'), null, 'Private key of the certificate.'),
};

/** Both listeners for devices, sleep and signal. */
const deviceListenerSettings = {
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

export const apiSection = section({
  listen: setting(listenAddress, '127.0.0.1:8080', 'Where the signed REST API listens.'),
  connections_max: setting(
    wholeNumber(1, 1_000_000),
    10_000,
    'Connections at once; the limit of open files and the sessions of devices may lower it, to 256 at the least.',
  ),
  connections_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'Once half of the connections are taken: those of one address (IPv6: one /64) that came in the last 12 s and have shown no valid signature, a quarter of all at most; 0, as it must be behind a proxy: no such bound.',
  ),
  ...tlsSettings,
}).superRefine(pairedTlsFiles);

export const opsSection = section({
  listen: setting(
    listenAddress,
    '127.0.0.1:8090',
    'Where probes, metrics and administration listen; never public.',
  ),
  hosts: setting(
    textList('a list of host names'),
    [],
    'Names by which administration may be asked beside the loopback ones and the host listened on.',
  ),
  connections_max: setting(
    wholeNumber(1, 10_000),
    opsConnectionsReserved,
    'Connections at once; 64 of them are there whatever the other listeners hold.',
  ),
  connections_per_address_max: setting(
    wholeNumber(0, 10_000),
    32,
    'Once half of the connections are taken: those of one address that came in the last 12 s, a quarter of all at most; 0: no such bound.',
  ),
});

const milliseconds = (max: number) => wholeNumber(1, max);

export const sleepSection = section({
  listen: setting(listenAddress, '127.0.0.1:8081', 'Where low-power modules log in.'),
  advertise: setting(
    addressList,
    [],
    'Sleep servers that devices are told of, in the order to try; empty: the address listened on.',
  ),
  max_sessions: setting(
    wholeNumber(1, 10_000_000),
    1_000_000,
    'Sleep sessions at once; the limit of open files less 1024 may lower it.',
  ),
  accepts_per_second: setting(wholeNumber(1, 1_000_000), 20_000, 'Session keys given per second.'),
  accept_ramp_s: setting(
    wholeNumber(0, 3600),
    0,
    'Seconds after a start until that rate is reached, from a tenth of it; 0: at once.',
  ),
  handshakes_max: setting(wholeNumber(1, 1_000_000), 20_000, 'Logins in progress at once.'),
  handshakes_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'Logins in progress from one address (IPv6: one /64); 0: no such bound.',
  ),
  admission_queue_max: setting(
    wholeNumber(0, 1_000_000),
    20_000,
    'Connections that wait for their session key; beyond it they are closed as busy.',
  ),
  admission_wait_ms: setting(milliseconds(600_000), 5000, 'How long one may wait for its session key.'),
  login_deadline_ms: setting(milliseconds(600_000), 10_000, 'From the session key to the whole login line.'),
  write_deadline_ms: setting(
    milliseconds(2000),
    1000,
    'A wakeup whose bytes the kernel has not taken by then is answered 50402.',
  ),
  write_stuck_ms: setting(milliseconds(600_000), 10_000, 'A packet unsent for this long ends its session.'),
  flood_bytes_max: setting(
    wholeNumber(64, 1_048_576),
    4096,
    'A peer that sends more within the flood window is closed.',
  ),
  flood_window_ms: setting(milliseconds(600_000), 10_000, 'The flood window.'),
  behind_balancer: setting(
    onOff,
    false,
    'Connections come through a balancer: without the PROXY protocol they share its address, and the bound per address is off.',
  ),
  proxy_protocol: setting(onOff, false, 'Every connection begins with a PROXY protocol v2 header.'),
  ...deviceListenerSettings,
}).superRefine(pairedTlsFiles);

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
  ...deviceListenerSettings,
}).superRefine(pairedTlsFiles);
