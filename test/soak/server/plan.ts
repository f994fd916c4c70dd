/** The load of the server soak, and its registry. */
import { siteAppId, siteRegistry } from '../../support/site-server.ts';

export interface SoakPlan {
  readonly seconds: number;
  /** Total devices, all asleep except those being woken; and whole devices among them, which log in when woken. */
  readonly devices: number;
  readonly wholeDevices: number;
  readonly heartbeatSeconds: number;
  /** Wakeup rates, of modules, which stay asleep, and of whole devices, which start and end both kinds of sessions. */
  readonly moduleWakesPerSecond: number;
  readonly deviceWakesPerSecond: number;
  readonly calls: number;
  readonly callChangeSeconds: number;
  readonly importEverySeconds: number;
  readonly importedDevices: number;
  readonly upgradeEverySeconds: number;
}

export type SoakTimes = Pick<SoakPlan, 'seconds' | 'upgradeEverySeconds'>;

/**
 * Warm-up after the start and after each upgrade, without checks: signatures and responses are remembered for 300 s, and their
 * number grows until then.
 */
export const warmUpSeconds = 330;
/** Minimum time after a warm-up that can show a trend. */
export const judgedSecondsMin = 150;

export function soakPlan({ seconds, upgradeEverySeconds }: SoakTimes): SoakPlan {
  return {
    seconds,
    devices: 10_000,
    wholeDevices: 500,
    heartbeatSeconds: 50,
    moduleWakesPerSecond: 45,
    deviceWakesPerSecond: 5,
    calls: 2,
    callChangeSeconds: 20,
    importEverySeconds: 240,
    importedDevices: 3000,
    upgradeEverySeconds,
  };
}

export const edges = 2;
export const sampleSeconds = 5;
/** Samples between two garbage collections of a process; memory is checked after each collection. */
export const samplesPerCollection = 6;

export const leakKinds = ['memory', 'descriptor', 'timer'] as const;
export type LeakKind = (typeof leakKinds)[number];

export interface SoakHooks {
  readonly good: string;
  readonly failing: string;
}

/** The registry file; imports add and remove the `devices` beyond those of the plan. */
export function soakRegistry(devices: number, { good, failing }: SoakHooks): object {
  const secret = `whsec_${Buffer.from('a secret of webhooks of the soak').toString('base64')}`;
  const hook = { app_id: siteAppId, secret };
  const webhooks = [
    { ...hook, url: good, types: ['*'] },
    { ...hook, url: failing, types: ['device.signal.online'] },
  ];
  return siteRegistry({ devices, webhooks });
}
