/** How simulated devices reach a real server: controllers by WebSocket, modules by TCP. */
import type { Clock } from '../../lib/clock.ts';
import type { WakeMode } from '../../model/sleep.ts';
import { parseListenAddress } from '../../server/config/settings-values.ts';
import type { DeviceController, DeviceEndpoints } from './device-connections.ts';
import { reachableAddress } from '../../cli/admin/running-server.ts';
import { SignalController } from './signal-controller.ts';
import { sourceAddress, type SimulatedDevice } from './simulated-devices.ts';
import { SleepingModule } from './sleeping-module.ts';

export interface DeviceEndpointsOptions {
  readonly clock: Clock;
  readonly signalUrl: string;
  /** `host:port` of the sleep server, whatever controllers are told; undefined: as they are told. */
  readonly sleepServer: string | undefined;
  readonly wakeMode: WakeMode;
  /** Whatever controllers are told; undefined: as they are told. */
  readonly heartbeatSeconds: number | undefined;
  /** Devices there are, which decides how many addresses they come from. */
  readonly devices: number;
  readonly onMessage: () => void;
}

/** For the device of this number (from 0). */
export function openEndpoints(
  options: DeviceEndpointsOptions,
  device: SimulatedDevice,
  number: number,
): DeviceEndpoints {
  const { signalUrl, wakeMode, devices } = options;
  return {
    signIn: async () => {
      const { clock, onMessage } = options;
      const controller = await SignalController.connect({
        url: signalUrl,
        clock,
        ...device,
        ...sourceOf(number, devices, new URL(signalUrl).hostname),
        autoAcknowledge: true,
        onMessage,
      });
      return presentController(controller, options);
    },
    fallAsleep: (server, { heartbeatSeconds }) => {
      const { host, port } = addressOf(server);
      const source = sourceOf(number, devices, host);
      return SleepingModule.connect(port, { ...device, wakeMode, heartbeatSeconds, host, ...source });
    },
  };
}

function sourceOf(number: number, devices: number, host: string): { readonly localAddress?: string } {
  const localAddress = sourceAddress(number, devices, host);
  return localAddress === undefined ? {} : { localAddress };
}

function addressOf(server: string): { readonly host: string; readonly port: number } {
  const address = parseListenAddress(reachableAddress(server));
  if (address === null) throw new Error(`${server} is no sleep server: expected host:port`);
  return address;
}

function presentController(controller: SignalController, options: DeviceEndpointsOptions): DeviceController {
  const { sleepServer, heartbeatSeconds } = options;
  const { sleep, heartbeatSeconds: signalHeartbeatSeconds } = controller.welcome;
  return {
    advice: {
      ...sleep,
      ...(sleepServer !== undefined && { servers: [sleepServer] }),
      ...(heartbeatSeconds !== undefined && { heartbeatSeconds }),
    },
    heartbeatMs: signalHeartbeatSeconds * 1000,
    closed: controller.closed.then(
      ({ code, reason }) => `the signal connection was closed: ${code} ${reason}`,
    ),
    heartbeat: () => controller.heartbeat(),
    reportWake: (cause) => controller.reportWake(cause),
    leave: () => {
      void controller.bye('going to sleep');
      void controller.close();
    },
  };
}
