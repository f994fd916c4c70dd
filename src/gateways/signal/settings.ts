/** Settings of the signal listener. Its file of settings is read elsewhere. */
import type { ListeningSettings } from '../../lib/listening-apps.ts';

export interface SignalGatewaySettings extends ListeningSettings {
  /** Sessions at once; the process's limit of open files may lower it. */
  readonly maxSessions: number;
  /** Connections not yet logged in. As many again may not have asked for the upgrade yet. */
  readonly handshakesMax: number;
  /** Of them, from one address (IPv6: one /64); 0: no such bound. */
  readonly handshakesPerAddressMax: number;
  /** From the challenge to the login. */
  readonly loginDeadlineMs: number;
}
