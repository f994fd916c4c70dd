/** The context that all connections of the sleep port share. */
import type { SecureContext } from 'node:tls';
import type { SleepEndReason } from '../../model/sleep.ts';
import type { SleepSessions } from '../../core/ports/device-sessions.ts';
import type { DeviceListenerContext } from '../devices/device-connections.ts';
import type { Admission } from './admission.ts';
import type { SleepGatewaySettings } from './settings.ts';

export interface SleepListenerContext extends DeviceListenerContext<
  SleepGatewaySettings,
  SleepSessions,
  SleepEndReason
> {
  /** The setting, or what the process's limit allows. */
  readonly maxSessions: number;
  readonly admission: Admission;
  /** The certificate in force; null: plain TCP. Replaced by a reload. */
  secureContext: SecureContext | null;
}
