/** The settings of the sleep port. Source: sleep-wire.md; what it leaves open is chosen here. */
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
    'Addresses of this sleep server for devices to try, in this order, the first 3; empty: the address listened on.',
  ),
  edges: setting(
    wholeNumber(0, localEdgesMax),
    0,
    'Processes that hold the sleep connections; 0: the server holds them itself.',
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
  handshakes_max: setting(
    wholeNumber(1, 1_000_000),
    20_000,
    'Logins in progress at once; beyond it the oldest of the address that has the most yields.',
  ),
  handshakes_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'Logins in progress from one address (IPv6: one /64); beyond it newcomers wait, and the oldest yields once it has had 2 s; 0: no such bound.',
  ),
  admission_queue_max: setting(
    wholeNumber(0, 1_000_000),
    20_000,
    'Connections that wait for their session key; beyond it they are closed as busy.',
  ),
  admission_wait_ms: setting(milliseconds(600_000), 5000, 'Wait for a session key, at most.'),
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
    'Connections come through a balancer; without the PROXY protocol the bound per address is then off.',
  ),
  proxy_protocol: setting(onOff, false, 'Every connection begins with a PROXY protocol v2 header.'),
  ...deviceListenerSettings,
}).superRefine(pairedTlsFiles);

export type SleepSettings = z.output<typeof sleepSection>;
