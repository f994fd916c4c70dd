/** What became of a fleet of simulated devices: how many are at what now, and counts since the start. */
import { SignalRefused } from './signal-controller.ts';
import type { DeviceStage } from './simulated-device.ts';
import { LoginRefused } from './sleeping-module.ts';

export class DeviceTally {
  logins = 0;
  sleepLogins = 0;
  refused = 0;
  errors = 0;
  heartbeats = 0;
  messages = 0;
  wakes = 0;
  readonly size: number;
  readonly #stages: Record<DeviceStage, number>;

  /** All begin switched off. */
  constructor(size: number) {
    this.size = size;
    this.#stages = {
      offline: size,
      booting: 0,
      'signing-in': 0,
      online: 0,
      'falling-asleep': 0,
      asleep: 0,
    };
  }

  inStage(stage: DeviceStage): number {
    return this.#stages[stage];
  }

  countStep(from: DeviceStage, to: DeviceStage): void {
    this.#stages[from] -= 1;
    this.#stages[to] += 1;
    if (from === 'signing-in' && to === 'online') this.logins += 1;
    if (to === 'asleep') this.sleepLogins += 1;
  }

  countTrouble(error: Error): void {
    if (isRefusal(error)) this.refused += 1;
    else this.errors += 1;
  }
}

/** Where the connection just broke, nobody refused. */
function isRefusal(error: Error): boolean {
  if (error instanceof SignalRefused) return error.code !== brokenCode;
  return error instanceof LoginRefused;
}

/** As WebSockets say that there was no close frame. */
const brokenCode = 1006;
