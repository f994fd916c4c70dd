/** Settings of the signal listener. Source: signal-wire.md, and choices of this server where the specification leaves them open. */
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
    'Maximum number of signal sessions. Signal and sleep sessions together stay below the limit of open files minus 1024.',
  ),
  handshakes_max: setting(
    wholeNumber(1, 1_000_000),
    20_000,
    'Maximum number of controllers that have not logged in, and of connections without an upgrade. Beyond it, the oldest of the address with the most is closed.',
  ),
  handshakes_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'The same limit for one address (IPv6: one /64). Beyond it, the oldest is closed once it is 2 s old; until then new connections are closed or answered 503. 0: no limit.',
  ),
  login_deadline_ms: setting(
    wholeNumber(1, 600_000),
    10_000,
    'Maximum time from the challenge to the login; then the connection is closed with 4408.',
  ),
  ...deviceListenerSettings,
}).superRefine(pairedTlsFiles);

export type SignalSettings = z.output<typeof signalSection>;
