/** The settings of the signal listener. Source: signal-wire.md; what it leaves open is chosen here. */
import type { z } from 'zod';
import {
  deviceListenerSettings,
  listenAddress,
  pairedTlsFiles,
  section,
  setting,
  wholeNumber,
} from '../../model/settings-values.ts';

export const signalSection = section({
  listen: setting(listenAddress, '127.0.0.1:8082', 'Listening address for device controllers.'),
  max_sessions: setting(
    wholeNumber(1, 10_000_000),
    1_000_000,
    'Signal sessions at once; with the sleep sessions they stay below the limit of open files less 1024.',
  ),
  handshakes_max: setting(
    wholeNumber(1, 1_000_000),
    20_000,
    'Controllers not yet logged in, at once, and as many connections without an upgrade; beyond it the oldest of the address that has the most yields.',
  ),
  handshakes_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'The same of one address (IPv6: one /64); beyond it the oldest yields once it has had 2 s, and until then newcomers are closed, or answered 503; 0: no such bound.',
  ),
  login_deadline_ms: setting(
    wholeNumber(1, 600_000),
    10_000,
    'From the challenge to the login; then the connection is closed with 4408.',
  ),
  ...deviceListenerSettings,
}).superRefine(pairedTlsFiles);

export type SignalSettings = z.output<typeof signalSection>;
