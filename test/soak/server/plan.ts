/** The load of the soak of a whole server, and its registry. */
import { siteAppId, siteRegistry } from '../../support/site-server.ts';

export interface SoakPlan {
  readonly seconds: number;
  /** All asleep but those that are being woken. Of them so many are whole devices, which come online when they are woken. */
  readonly devices: number;
  readonly wholeDevices: number;
  readonly heartbeatSeconds: number;
  /** Wakeups of modules, which stay asleep, and of whole devices: each is a login and an end of both kinds of session. */
  readonly moduleWakesPerSecond: number;
  readonly deviceWakesPerSecond: number;
  readonly calls: number;
  readonly callChangeSeconds: number;
  readonly importEverySeconds: number;
  /** Added by one import, removed by the next. */
  readonly importedDevices: number;
  readonly upgradeEverySeconds: number;
}

export type SoakTimes = Pick<SoakPlan, 'seconds' | 'upgradeEverySeconds'>;

/**
 * Behind the start and behind each upgrade nothing is judged for so long: signatures and answers are kept for 300 s, and until
 * then they become more.
 */
export const warmUpSeconds = 330;
/** The time after a warm-up has to be long enough to show a trend. */
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
/** Between two samples of a process or of the load. */
export const sampleSeconds = 5;
/** Samples of a process between two collections of its garbage; memory is judged after each. */
export const samplesPerCollection = 6;

/** Kinds of leaks that a canary's processes can have. */
export const leakKinds = ['memory', 'descriptor', 'timer'] as const;
export type LeakKind = (typeof leakKinds)[number];

export interface SoakHooks {
  readonly good: string;
  readonly failing: string;
}

/** The registry file; `devices` beyond those of the plan are what imports bring and take. */
export function soakRegistry(devices: number, { good, failing }: SoakHooks): object {
  const secret = `whsec_${Buffer.from('a secret of webhooks of the soak').toString('base64')}`;
  const hook = { app_id: siteAppId, secret };
  const webhooks = [
    { ...hook, url: good, types: ['*'] },
    { ...hook, url: failing, types: ['device.signal.online'] },
  ];
  return siteRegistry({ devices, webhooks });
}
