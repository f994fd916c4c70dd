/** Many devices of `reveille simulate` in this process, connected to a server on this machine. */
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { WakeMode } from '../../src/model/sleep.ts';
import { openEndpoints } from '../../src/tools/simulator/device-connections.ts';
import { DeviceFleet, type DeviceFleetOptions } from '../../src/tools/simulator/device-fleet.ts';
import type { SimulatedDevice } from '../../src/tools/simulator/simulated-devices.ts';

export interface FleetPlan extends DeviceFleetOptions {
  readonly devices: readonly SimulatedDevice[];
  readonly sleepPort: number;
  /** Default: modules only. */
  readonly signalPort?: number;
  readonly heartbeatSeconds: number;
  readonly wakeMode?: WakeMode;
  readonly onWake?: (deviceId: string) => void;
  readonly onTrouble: (error: Error) => void;
}

export function openFleet(plan: FleetPlan): DeviceFleet {
  const { devices, sleepPort, signalPort, heartbeatSeconds, wakeMode = 'custom', onWake, onTrouble } = plan;
  const endpoints = {
    signalUrl: signalPort === undefined ? null : `ws://127.0.0.1:${signalPort}`,
    signalTls: undefined,
    sleep: { address: `127.0.0.1:${sleepPort}`, tls: null },
    wakeMode,
    heartbeatSeconds,
    devices: devices.length,
    onMessage: () => undefined,
  };
  return new DeviceFleet(devices, plan, {
    clock: new SystemClock(),
    random: Math.random,
    endpointsOf: (device, number) => openEndpoints(endpoints, device, number),
    onWake: (deviceId) => onWake?.(deviceId),
    onAwake: () => undefined,
    onTrouble: (_deviceId, error) => onTrouble(error),
  });
}
