/** The options of `reveille simulate`, common to its two simulations. */
import type { WakeMode } from '../../model/sleep.ts';
import type { CredentialOptions } from '../../cli/api/credential-source.ts';
import type { DeviceChoice } from './simulated-devices.ts';

export interface SimulateOptions extends DeviceChoice, CredentialOptions {
  readonly server?: string;
  readonly signal?: string;
  readonly onlySleep?: boolean;
  readonly wakeMode: WakeMode;
  /** Seconds, as are the durations below and what the ramp is per; as the server advises when left out. */
  readonly heartbeat?: number;
  readonly onlineFor: number;
  readonly bootMs: number;
  readonly wakeEvery?: number;
  readonly url?: string;
  readonly duration?: number;
  readonly ramp: number;
}

export interface Simulation {
  /** Logins since the start, and those of them that were refused. */
  readonly tally: { readonly logins: number; readonly refused: number };
  start(): void;
  /** Once a second. */
  progress(): void;
  summary(): void;
  stop(): Promise<void> | void;
}
