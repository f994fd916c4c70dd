/** The settings of the sleep port. Source: sleep-wire.md; this file chooses the rest. */
import type { z } from 'zod';
import {
  addressList,
  deviceListenerSettings,
  listenAddress,
  onOff,
  pairedTlsFiles,
  section,
  setting,
  wholeNumber,
} from '../model/settings-values.ts';

const milliseconds = (max: number) => wholeNumber(1, max);

/** Edges of one machine. Source: scale-out.md, Edges. */
const localEdgesMax = 64;

export const sleepSection = section({
  listen: setting(listenAddress, '127.0.0.1:8081', 'Listening address for low-power modules.'),
  advertise: setting(
    addressList,
    [],
    'Addresses of this sleep server for devices, which try the first 3 in this order; empty: the listening address.',
  ),
  edges: setting(
    wholeNumber(0, localEdgesMax),
    0,
    'Number of edges, the processes that hold the sleep connections; 0: the server holds them itself.',
  ),
  max_sessions: setting(
    wholeNumber(1, 10_000_000),
    1_000_000,
    'Maximum sleep sessions. The open file limit, less 1024, may lower it.',
  ),
  accepts_per_second: setting(wholeNumber(1, 1_000_000), 20_000, 'Session keys sent per second.'),
  accept_ramp_s: setting(
    wholeNumber(0, 3600),
    0,
    'Seconds after a start until the full rate is reached, beginning at a tenth of it; 0: at once.',
  ),
  handshakes_max: setting(
    wholeNumber(1, 1_000_000),
    20_000,
    'Maximum logins in progress. When full, the oldest of the busiest address is closed.',
  ),
  handshakes_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'Maximum logins in progress from one address (IPv6: one /64). Beyond it, new ones wait, and the oldest is closed once it has had 2 s. 0: no limit.',
  ),
  admission_queue_max: setting(
    wholeNumber(0, 1_000_000),
    20_000,
    'Maximum connections waiting for a session key; more are closed as busy.',
  ),
  admission_wait_ms: setting(milliseconds(600_000), 5000, 'Maximum wait for a session key.'),
  login_deadline_ms: setting(
    milliseconds(600_000),
    10_000,
    'Deadline for the complete login line after the session key.',
  ),
  write_deadline_ms: setting(
    milliseconds(2000),
    1000,
    'A wakeup whose packet the kernel has not accepted within this time is answered 50402.',
  ),
  write_stuck_ms: setting(milliseconds(600_000), 10_000, 'A packet unsent for this time ends its session.'),
  flood_bytes_max: setting(
    wholeNumber(64, 1_048_576),
    4096,
    'Maximum bytes from a peer within the flood window; more closes the connection.',
  ),
  flood_window_ms: setting(milliseconds(600_000), 10_000, 'Length of the flood window.'),
  behind_balancer: setting(
    onOff,
    false,
    'Connections come through a balancer; without the PROXY protocol this disables the limit per address.',
  ),
  proxy_protocol: setting(onOff, false, 'Connections begin with a PROXY protocol v2 header.'),
  ...deviceListenerSettings,
}).superRefine(pairedTlsFiles);

export type SleepSettings = z.output<typeof sleepSection>;
